package fetch

import (
	"mime"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// view is a page as its reader sees it.
type view struct {
	title    string
	headings []string // of the first level
	text     string   // with the title; a line for each block
	own      int      // letters outside links and frames of the page; one of a script without spaces counts for three
	html     bool
}

// view is the answer's page, read once.
func (a *answer) view() *view {
	if a.seen == nil {
		a.seen = a.read()
	}
	return a.seen
}

// read reads the body. What is no text (a PDF, a picture, a coding that nobody
// asked for) has none.
func (a *answer) read() *view {
	v := &view{}
	kind := mediaType(a.header.Get("Content-Type"), a.body.bytes)
	if a.body.sealed || !readable(kind, a.body.bytes) {
		return v
	}
	s := decode(a.body.bytes, a.header.Get("Content-Type"), kind)
	if a.body.cut {
		s = strings.TrimRight(s, "\ufffd") // a character cut in two
	}
	if v.html = isHTML(kind); !v.html {
		v.text = s
		return v
	}
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return v // nested deeper than any page of words is
	}
	var p printer
	p.walk(doc, true)
	v.title, v.headings, v.own = strings.Join(strings.Fields(p.title), " "), p.headings, p.own
	v.text = strings.TrimSpace(v.title + "\n" + p.out.String())
	return v
}

// mediaType is the type that the header names, or else the one that the bytes
// look like.
func mediaType(header string, b []byte) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil {
		kind, _, _ = strings.Cut(header, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	if !strings.Contains(kind, "/") {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(b))
	}
	return kind
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func isXML(kind string) bool {
	return strings.HasSuffix(kind, "/xml") || strings.HasSuffix(kind, "+xml")
}

// readable reports whether a type is text and the bytes do not say otherwise.
func readable(kind string, b []byte) bool {
	if !strings.HasPrefix(kind, "text/") && !isXML(kind) &&
		kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return false
	}
	looks, _, _ := mime.ParseMediaType(http.DetectContentType(b))
	// Bytes that look like nothing may be text in a coding of two bytes a character.
	return strings.HasPrefix(looks, "text/") || looks == "application/octet-stream"
}

var xmlEncoding = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)
})

// decode makes UTF-8 of a body: by its byte order mark, its header, what it says
// of itself; else it is UTF-8 if it can be. Nothing it holds makes it fail.
func decode(b []byte, header, kind string) string {
	e, name, certain := charset.DetermineEncoding(b, header)
	if !certain {
		if m := xmlEncoding().FindSubmatch(b[:min(len(b), 1024)]); m != nil && (isXML(kind) || isHTML(kind)) {
			if said, itsName := charset.Lookup(string(m[1])); said != nil {
				e, name = said, itsName
			}
		}
		// The first kilobyte of a page is often plain ASCII, and then no guess.
		if strings.HasPrefix(name, "windows-125") && isUTF8(b) {
			name = "utf-8"
		}
	}
	s := ""
	if name == "utf-8" {
		s = strings.ToValidUTF8(string(b), "\ufffd")
	} else if decoded, err := e.NewDecoder().Bytes(b); err == nil {
		s = strings.ToValidUTF8(string(decoded), "\ufffd")
	}
	return strings.TrimPrefix(s, "\ufeff")
}

// isUTF8 reports whether the bytes are UTF-8, but for a character cut in two at
// the end.
func isUTF8(b []byte) bool {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				b = b[:i]
			}
			break
		}
	}
	return utf8.Valid(b)
}

// unseen are elements whose content no reader of the page sees.
var unseen = atoms(atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Noembed, atom.Noframes, atom.Iframe,
	atom.Object, atom.Audio, atom.Video, atom.Canvas, atom.Datalist)

// blocks are elements that begin and end a line.
var blocks = atoms(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Caption, atom.Center,
	atom.Dd, atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption,
	atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header,
	atom.Hgroup, atom.Hr, atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup, atom.Option,
	atom.P, atom.Pre, atom.Section, atom.Select, atom.Summary, atom.Table, atom.Tbody, atom.Td, atom.Textarea, atom.Tfoot,
	atom.Th, atom.Thead, atom.Tr, atom.Ul)

// frames are elements that lead elsewhere or stand on every page of a site.
var frames = atoms(atom.A, atom.Aside, atom.Button, atom.Footer, atom.Header, atom.Label, atom.Nav, atom.Select)

func atoms(list ...atom.Atom) map[atom.Atom]bool {
	set := map[atom.Atom]bool{}
	for _, a := range list {
		set[a] = true
	}
	return set
}

// printer writes the text of a document: white space collapsed to one space, a
// line feed between blocks.
type printer struct {
	out      strings.Builder
	gap      byte // what stands before the next character, if something stands before that
	title    string
	headings []string
	own      int
}

// walk prints a node. The parser nests no deeper than 512 elements.
func (p *printer) walk(n *html.Node, own bool) {
	switch n.Type {
	case html.TextNode:
		p.text(n.Data, own)
		return
	case html.ElementNode:
		if !p.enter(n) {
			return
		}
		own = own && !frames[n.DataAtom]
	case html.CommentNode, html.DoctypeNode:
		return
	}
	block := n.Type == html.ElementNode && blocks[n.DataAtom]
	if block {
		p.gap = '\n'
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		p.walk(child, own)
	}
	if block {
		p.gap = '\n'
	}
}

// enter reports whether the content of an element is printed, and prints what
// stands for that of others.
func (p *printer) enter(n *html.Node) bool {
	switch {
	case n.Namespace == "" && n.DataAtom == atom.Title:
		if p.title == "" {
			p.title = content(n)
		}
		return false
	case n.Namespace == "svg" && (n.Data == "title" || n.Data == "desc" || n.Data == "metadata"),
		n.Namespace == "math" && strings.HasPrefix(n.Data, "annotation"),
		n.Namespace == "" && unseen[n.DataAtom], hidden(n):
		return false
	case n.DataAtom == atom.Img, n.DataAtom == atom.Area, n.DataAtom == atom.Input && attribute(n, "type") == "image":
		p.text(" "+attribute(n, "alt")+" ", false)
	case n.DataAtom == atom.H1 && len(p.headings) < 3:
		p.headings = append(p.headings, strings.Join(strings.Fields(content(n)), " "))
	}
	return true
}

// hidden reports whether an element says of itself that it is not shown. Of the
// whole page that is said only until a script shows it.
func hidden(n *html.Node) bool {
	if n.DataAtom == atom.Html || n.DataAtom == atom.Body {
		return false
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return !strings.EqualFold(a.Val, "until-found")
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") {
				return true
			}
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// content is the text inside an element.
func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func (p *printer) text(s string, own bool) {
	for _, r := range s {
		if unicode.IsSpace(r) {
			if p.gap == 0 {
				p.gap = ' '
			}
			continue
		}
		if p.gap != 0 && p.out.Len() > 0 {
			p.out.WriteByte(p.gap)
		}
		p.gap = 0
		p.out.WriteRune(r)
		if own && unicode.IsLetter(r) {
			p.own++
			if r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
				p.own += 2
			}
		}
	}
}
