package draw

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON writes the picture as a document with a version.
func (p *Picture) JSON(w io.Writer) error {
	if err := json.MarshalWrite(w, p, jsontext.WithIndent("  ")); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// DOT writes the picture for Graphviz.
func (p *Picture) DOT(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph %s {\n  rankdir=TB\n  node [fontname=\"sans-serif\" shape=box style=rounded]\n  edge [fontname=\"sans-serif\" fontsize=10]\n", quote(p.Name))
	for _, n := range p.Nodes {
		shape := map[NodeKind]string{
			SourceNode: " shape=folder", DecideNode: " shape=diamond style=solid", GateNode: " shape=box peripheries=2 style=solid", StopNode: " shape=plaintext",
		}[n.Kind]
		fmt.Fprintf(out, "  %s [label=%s%s]\n", quote(n.ID), quote(n.caption("\n")), shape)
	}
	for _, e := range p.Edges {
		style := ""
		if e.Max != nil || e.Kind == "exhausted" || e.Kind == "fail" || e.Kind == "shadow" {
			style = " style=dashed"
		}
		fmt.Fprintf(out, "  %s -> %s [label=%s%s]\n", quote(e.From), quote(e.To), quote(e.text()), style)
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

func (n Node) caption(separator string) string {
	if n.Provider == "" {
		return n.Label
	}
	return n.Label + separator + n.Provider
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Mermaid writes the picture for Markdown pages that draw Mermaid.
func (p *Picture) Mermaid(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "flowchart TB")
	name := strings.NewReplacer(".", "_", "-", "_")
	for _, n := range p.Nodes {
		form := map[NodeKind]string{
			SourceNode: `[("%s")]`, StageNode: `("%s")`, DecideNode: `{"%s"}`, GateNode: `[["%s"]]`, StopNode: `(["%s"])`,
		}[n.Kind]
		fmt.Fprintf(out, "  %s"+form+"\n", name.Replace(n.ID), escape(n.caption("<br/>")))
	}
	for _, e := range p.Edges {
		arrow := "-->"
		if e.Max != nil || e.Kind != "route" && e.Kind != "start" {
			arrow = "-.->"
		}
		if text := e.text(); text != "" {
			arrow += `|"` + escape(text) + `"|`
		}
		fmt.Fprintf(out, "  %s %s %s\n", name.Replace(e.From), arrow, name.Replace(e.To))
	}
	return out.Flush()
}

// escape keeps a text from ending its Mermaid quotes; the line break is ours.
func escape(s string) string {
	s = strings.NewReplacer(`"`, "#quot;", "<", "&lt;", ">", "&gt;").Replace(s)
	return strings.ReplaceAll(s, "&lt;br/&gt;", "<br/>")
}
