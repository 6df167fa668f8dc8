package lang

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/penstock-run/penstock/internal/diag"
)

// form is what a file is expected to hold.
type form int

const (
	formPipeline form = iota + 1
	formVariables
	formLock
)

// instead is how a file of the form is written.
func (f form) instead() string {
	switch f {
	case formVariables:
		return "A file of variables holds lines such as\n    name = \"value\"\nor, where its name ends with .json, one object in JSON."
	case formLock:
		return relock
	}
	return "A pipeline is written in blocks and attributes:\n    stage \"writer\" {\n      plugin = plugin.prompt\n    }\nA whole one to start from is made by\n    penstock init"
}

var (
	yamlLine    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(---|- |["']?[A-Za-z_][\w.-]*["']?:( |$))`) })
	makeRule    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w./%$(){}-]+( [\w./%$(){}-]+)*\s*:{1,2}[^=]*$`) })
	tomlSection = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[+[\w."-]+\]+\s*(#.*)?$`) })
	programLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(import|from|def|class) `) })
	exportLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(export|set) +\w+=`) })
)

// foreign recognises a file that is written in another language altogether,
// where its first line is what could not be read. Nil: it is none.
func foreign(name string, src []byte, line int, of form) *hcl.Diagnostic {
	lines := strings.Split(string(src), "\n")
	first, number := "", 0
	for i, text := range lines {
		if t := strings.TrimSpace(text); t != "" && !strings.HasPrefix(t, "#") && !strings.HasPrefix(t, "//") {
			first, number = strings.TrimRight(text, " \t"), i+1
			break
		}
	}
	if first == "" {
		return nil
	}
	what := ""
	switch {
	case of == formVariables && exportLine().MatchString(lines[line-1]):
		number, first, what = line, strings.TrimRight(lines[line-1], " \t"), "a script of a shell"
	case line != number && !tomlSection().MatchString(first):
	case tomlSection().MatchString(first):
		what = "TOML"
	case strings.HasPrefix(first, "{"), strings.HasPrefix(first, "["):
		what = "JSON"
	case strings.HasPrefix(first, "<"):
		what = "XML or HTML"
	case makeRule().MatchString(first) && strings.Contains(string(src), "\n\t"):
		what = "a Makefile"
	case yamlLine().MatchString(first):
		what = "YAML"
	case programLine().MatchString(first):
		what = "a program"
	}
	if what == "" {
		return nil
	}
	at := rangeOf(name, src, len(strings.Join(lines[:number-1], "\n"))+min(number-1, 1), len(first))
	at.End.Column = at.Start.Column + len([]rune(first))
	return diag.Error(at, otherLanguage, fmt.Sprintf("This looks like %s. %s", what, of.instead()))
}
