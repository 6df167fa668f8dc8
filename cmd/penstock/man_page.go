package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manDate stands in the pages: the date of this version, not of the day on which
// they are made, so that they are the same wherever that is.
const manDate = "2026-11-30"

// manName is what a command's page is called: penstock-plugin-lock.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPages makes a page in roff of a command and of each below it, by file name.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		pages[manName(cmd)+".1"] = manPage(cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return pages
}

// manPage is the page of one command: what its help says, in the order in which
// manual pages say it.
func manPage(cmd *cobra.Command) string {
	p := &roff{}
	p.macro("TH", strings.ToUpper(manName(cmd)), "1", manDate, "penstock "+version, "Penstock")
	p.macro("SH", "NAME")
	p.text(manName(cmd) + " - " + lowerFirst(cmd.Short))
	p.macro("SH", "SYNOPSIS")
	if cmd.HasAvailableSubCommands() {
		p.line(bold(cmd.CommandPath()) + " " + italic("VERB") + " [" + italic("flags") + "]")
	} else {
		path := cmd.CommandPath()
		p.line(bold(path) + escape(strings.TrimPrefix(cmd.UseLine(), path)))
	}
	p.macro("SH", "DESCRIPTION")
	if cmd.Long != "" {
		p.text(cmd.Long)
	} else {
		p.text(cmd.Short + ".")
	}
	p.verbs(cmd)
	p.flags("OPTIONS", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		p.flags("OPTIONS OF EVERY VERB", cmd.InheritedFlags())
	} else {
		p.flags("OPTIONS OF EVERY VERB", cmd.PersistentFlags())
	}
	p.macro("SH", "EXIT STATUS")
	for _, exit := range exitStatuses {
		p.macro("TP")
		p.line(bold(fmt.Sprint(exit.status)))
		p.text(exit.means)
	}
	p.seeAlso(cmd)
	return p.b.String()
}

// roff is a page as it is written.
type roff struct{ b strings.Builder }

func (p *roff) line(text string) { p.b.WriteString(text + "\n") }

// macro writes a request with its arguments.
func (p *roff) macro(name string, args ...string) {
	text := "." + name
	for _, arg := range args {
		text += ` "` + strings.ReplaceAll(escape(arg), `"`, `\(dq`) + `"`
	}
	p.line(text)
}

// text writes paragraphs; lines that are indented stay as they are.
func (p *roff) text(text string) {
	listing := false
	for _, line := range strings.Split(text, "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !listing:
			p.line(".nf")
		case !indented && listing:
			p.line(".fi")
		}
		listing = indented
		switch line = escape(line); {
		case line == "":
			p.line(".PP")
		case strings.HasPrefix(line, ".") || strings.HasPrefix(line, `\(aq`):
			p.line(`\&` + line)
		default:
			p.line(line)
		}
	}
	if listing {
		p.line(".fi")
	}
}

func (p *roff) verbs(cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	p.macro("SH", "VERBS")
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			p.macro("TP")
			p.line(bold(sub.Name()))
			p.text(sub.Short)
		}
	}
}

func (p *roff) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.macro("SH", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := bold("--" + f.Name)
		if f.Shorthand != "" {
			name = bold("-"+f.Shorthand) + ", " + name
		}
		if value != "" {
			name += " " + italic(value)
		}
		p.macro("TP")
		p.line(name)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
			usage += " (default " + f.DefValue + ")"
		}
		p.text(usage)
	})
}

func (p *roff) seeAlso(cmd *cobra.Command) {
	var others []string
	if cmd.HasParent() {
		others = append(others, bold(manName(cmd.Parent()))+"(1)")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			others = append(others, bold(manName(sub))+"(1)")
		}
	}
	if len(others) > 0 {
		p.macro("SH", "SEE ALSO")
		p.line(strings.Join(others, ",\n"))
	}
}

func bold(text string) string   { return `\fB` + escape(text) + `\fR` }
func italic(text string) string { return `\fI` + escape(text) + `\fR` }

// roffEscapes keeps characters what they are: roff has its own use for them.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// escape writes text in ASCII, as every roff reads it.
func escape(text string) string {
	var b strings.Builder
	for _, r := range roffEscapes.Replace(text) {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}

func lowerFirst(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return strings.ToLower(string(r)) + text[n:]
}
