package prompt

import (
	"regexp"
	"strings"
	"sync"

	"github.com/penstock-run/penstock/plugins/sdk"
)

var (
	pathLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w./-]+\.(md|txt|tmpl|prompt|j2)$`) })
	hclLike  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\$\{ *(item|origin|input|output|artifact)\b[^}]*\}?`)
	})
)

// Advise tells what is likely not meant in a configuration that can be used: a
// visit made with it would cost money and do nothing of use.
func Advise(c sdk.Config) sdk.Diagnostics {
	var conf config
	if err := c.Into(&conf); err != nil {
		return nil // Configure says it
	}
	var advice sdk.Diagnostics
	warn := func(summary, detail string) {
		advice = append(advice, sdk.Diagnostic{Summary: summary, Detail: detail, Path: []string{"template"}, Warning: true})
	}
	text := strings.TrimSpace(conf.Template)
	if pathLike().MatchString(text) {
		warn("The prompt is the name of a file", "The model would be sent this name. To send what stands in the file, write\n    template = file(\""+text+"\")")
	}
	if found := hclLike().FindString(text); found != "" {
		warn("The template holds ${ … }", "A prompt is filled by {{ … }}, so "+found+" is sent as it is written. What the input has is read as {{ .name }}, and the whole input is {{ json . }}.")
	}
	return advice
}
