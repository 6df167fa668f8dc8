package diag

import (
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// GitHub prints diagnostics as workflow commands, one a line, which GitHub
// Actions shows as annotations at the lines of a pull request.
func GitHub(w io.Writer, diags hcl.Diagnostics, site Site) error {
	var b strings.Builder
	for _, d := range Shown(diags) {
		command := "error"
		if d.Severity == hcl.DiagWarning {
			command = "warning"
		}
		var properties []string
		set := func(name, value string) {
			properties = append(properties, name+"="+propertyEscapes.Replace(Clean(value)))
		}
		if d.Subject != nil {
			set("file", site.path(d.Subject.Filename))
			if at, ok := site.region(*d.Subject); ok {
				set("line", fmt.Sprint(at.startLine))
				set("endLine", fmt.Sprint(at.endLine))
				if at.endLine == at.startLine { // columns of two lines are not understood
					set("col", fmt.Sprint(at.startColumn))
					set("endColumn", fmt.Sprint(at.endColumn))
				}
			}
		}
		set("title", d.Summary)
		fmt.Fprintf(&b, "::%s %s::%s\n", command, strings.Join(properties, ","), messageEscapes.Replace(Clean(site.inWords(d))))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// GitHubError prints what ended a command as a workflow command without a place.
func GitHubError(w io.Writer, title, text string) error {
	_, err := fmt.Fprintf(w, "::error title=%s::%s\n", propertyEscapes.Replace(Clean(title)), messageEscapes.Replace(Clean(text)))
	return err
}

// What would end a message, or a property of it, is written as its number.
var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// inWords is a diagnostic for readers who see its summary and its place apart:
// the block, the detail, and the other places that belong to it.
func (s Site) inWords(d *hcl.Diagnostic) string {
	info, text := InfoOf(d), valid(d.Detail)
	if text == "" {
		text = valid(d.Summary)
	}
	if info.Address != "" {
		text = "In " + valid(info.Address) + ": " + text
	}
	for _, r := range info.Related {
		at := r.Range
		at.Filename = s.path(at.Filename)
		text += "\n" + valid(r.Label) + ": " + place(at)
	}
	return text
}
