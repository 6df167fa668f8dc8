package fetch

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"github.com/penstock-run/penstock/dag"
)

func TestTextOfHTML(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"paragraphs", "<p>one<p>two", "one\ntwo"},
		{"title", "<title>T &amp; U</title><p>one", "T & U\none"},
		{"the rest of the head", `<head><meta name=description content=x><link href=y><style>z</style><script>q</script><noscript>n</noscript><title>T</title></head>a`, "T\na"},
		{"inline elements", "a <b>b</b><i>c</i> d", "a bc d"},
		{"white space", "  a \n\t b&nbsp;c  ", "a b c"},
		{"entities", "&lt;p&gt; &eacute; &#x2013; &hellip;", "<p> é – …"},
		{"breaks", "a<br>b<hr>c", "a\nb\nc"},
		{"lists and tables", "<ul><li>a<li>b</ul><table><tr><td>c<td>d<tr><th>e</table>", "a\nb\nc\nd\ne"},
		{"soft word breaks", "a<wbr>b", "ab"},
		{"scripts", "a<script>if (1 < 2) {}</script>b<style>c{}</style><template>d</template><noscript>e</noscript>f", "abf"},
		{"frames and fallbacks", "a<iframe>b</iframe><object>c</object><video>d</video><audio>e</audio><canvas>f</canvas>g", "ag"},
		{"comments", "a<!-- b -->c<![CDATA[d]]>e", "ace"},
		{"pictures", `a<img alt="a map" src=x>b<img src=y><input type=image alt=go><input type=text alt=no value=no>`, "a a map b go"},
		{"hidden", `a<p hidden>b</p><p style="Display : none">c</p><p style="visibility:hidden">d</p><p hidden=until-found>e</p>f`, "a\ne\nf"},
		{"a page that a script shows", `<body style="display:none"><p>a`, "a"},
		{"drawings", `<svg><title>a</title><desc>b</desc><text>c</text></svg>d`, "cd"},
		{"formulas", `<math><mi>x</mi><annotation>\x</annotation></math>`, "x"},
		{"text without elements", "just words", "just words"},
		{"cut in a tag", "<p>one</p><a hre", "one"},
		{"cut in an entity", "<p>one &eac", "one &eac"},
		{"cut in a script", "<p>one</p><script>if (", "one"},
		{"never closed", "<div><p><b>one", "one"},
		{"a title in a title", "<title>a<title>b</title>c", "a<title>b\nc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := see("text/html; charset=utf-8", []byte(tt.in)).text; got != tt.want {
				t.Errorf("%q; want %q", got, tt.want)
			}
		})
	}
}

// see is what a reader sees of a body.
func see(contentType string, b []byte) *view {
	a := &answer{status: 200, header: http.Header{"Content-Type": {contentType}}, body: body{bytes: b}}
	return a.view()
}

func TestCharset(t *testing.T) {
	const words = "Ærø, São Tomé"
	latin := encode(t, charmap.Windows1252.NewEncoder().String, words)
	for _, tt := range []struct{ name, header, in, want string }{
		{"UTF-8 by the header", "text/html; charset=utf-8", words, words},
		{"UTF-8 by nothing", "text/html", words, words},
		{"UTF-8 after a long ASCII head", "text/html", "<p>" + strings.Repeat("a", 2000) + words, strings.Repeat("a", 2000) + words},
		{"UTF-8 though it says otherwise", "text/html", `<meta charset=iso-8859-1>` + words, words},
		{"by the header", "text/html; charset=ISO-8859-1", latin, words},
		{"by the header, quoted", `text/html; charset="windows-1252"`, latin, words},
		{"by meta", "text/html", "<meta charset=windows-1252>" + latin, words},
		{"by the older meta", "text/html", `<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">` + latin, words},
		{"the header before meta", "text/html; charset=windows-1252", "<meta charset=utf-8>" + latin, words},
		{"a header that means nothing", "text/html; charset=none", "<meta charset=windows-1252>" + latin, words},
		{"by nothing", "text/html", latin, words},
		{"a byte order mark before all", "text/html; charset=windows-1252", "\xef\xbb\xbf" + words, words},
		{"UTF-16", "text/html", encode(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String, words), words},
		{"UTF-16 by the header", "text/html; charset=utf-16be", encode(t, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String, words), words},
		{"Japanese", "text/html", encode(t, japanese.ShiftJIS.NewEncoder().String, "<meta charset=shift_jis>エベレスト山"), "エベレスト山"},
		{"Japanese, the other way", "text/html; charset=euc-jp", encode(t, japanese.EUCJP.NewEncoder().String, "エベレスト山"), "エベレスト山"},
		{"Cyrillic", "text/html; charset=koi8-r", encode(t, charmap.KOI8R.NewEncoder().String, "Волга"), "Волга"},
		{"XML", "application/xml", encode(t, charmap.ISO8859_2.NewEncoder().String, `<?xml version="1.0" encoding="ISO-8859-2"?><a>Łódź</a>`), `<?xml version="1.0" encoding="ISO-8859-2"?><a>Łódź</a>`},
		{"plain", "text/plain; charset=iso-8859-1", latin, words},
		{"broken UTF-8", "text/html; charset=utf-8", "a\xffb", "a\ufffdb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := see(tt.header, []byte(tt.in)).text; got != tt.want {
				t.Errorf("%q; want %q", got, tt.want)
			}
		})
	}
}

func encode(t *testing.T, encoder func(string) (string, error), s string) string {
	t.Helper()
	out, err := encoder(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTypes: what is text is read as it is, what is none has no text.
func TestTypes(t *testing.T) {
	for _, tt := range []struct{ name, header, in, want string }{
		{"plain", "text/plain", " <p>a\n b", " <p>a\n b"},
		{"JSON", "application/json", `{"a": "ü"}`, `{"a": "ü"}`},
		{"linked JSON", "application/ld+json; charset=utf-8", `{"a": "ü"}`, `{"a": "ü"}`},
		{"XML", "application/rss+xml", "<a>b</a>", "<a>b</a>"},
		{"XHTML", "application/xhtml+xml", "<html><body><p>a</p><p>b</p></body></html>", "a\nb"},
		{"no type", "", "<!doctype html><p>a", "a"},
		{"a type that is none", "html", "<!doctype html><p>a", "a"},
		{"a type with a broken parameter", "text/html; charset", "<p>a", "a"},
		{"no type, words", "", "a b", "a b"},
		{"PDF", "application/pdf", "%PDF-1.7 words", ""},
		{"PDF that says it is HTML", "text/html", "%PDF-1.7 words", ""},
		{"PDF without a type", "", "%PDF-1.7 words", ""},
		{"a picture", "image/png", "\x89PNG\r\n\x1a\n", ""},
		{"a picture that says it is text", "text/plain", "\x89PNG\r\n\x1a\n", ""},
		{"unknown bytes", "application/octet-stream", "words", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{tt.header}
				if tt.header == "" {
					w.Header()["Content-Type"] = nil
				}
				_, _ = io.WriteString(w, tt.in)
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			if page := r.read(t, s.URL+"/x"); page.Verdict != dag.PageLive || page.Text != tt.want {
				t.Errorf("%+v; want the text %q", page, tt.want)
			}
		})
	}
}

// TestCutCharacter: a body that ends in the middle of a character ends before it.
func TestCutCharacter(t *testing.T) {
	for _, shift := range []string{"", "a", "ab"} {
		s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, shift+strings.Repeat("日", 30_000))
		})
		r := newRig(t, Options{AllowHosts: []string{s.host}})
		page := r.read(t, s.URL+"/x")
		want := shift + strings.Repeat("日", (maxBody-len(shift))/3)
		if page.Text != want || !utf8.ValidString(page.Text) {
			t.Errorf("%d bytes of text, of which the last are %q", len(page.Text), page.Text[len(page.Text)-6:])
		}
	}
}

func TestCodings(t *testing.T) {
	page := []byte("<p>one<p>two")
	packed := pack(t, "gzip", page)
	half := pack(t, "gzip", []byte(strings.Repeat("one two ", 10)))
	for _, tt := range []struct {
		name, coding string
		body         []byte
		verdict      dag.PageVerdict
		text         string
	}{
		{"gzip", "gzip", packed, dag.PageLive, "one\ntwo"},
		{"in capitals", "GZIP", packed, dag.PageLive, "one\ntwo"},
		{"by its old name", "x-gzip", packed, dag.PageLive, "one\ntwo"},
		{"identity", "identity", page, dag.PageLive, "one\ntwo"},
		{"deflate", "deflate", pack(t, "deflate", page), dag.PageLive, "one\ntwo"},
		{"raw deflate", "deflate", pack(t, "raw", page), dag.PageLive, "one\ntwo"},
		{"two", "deflate, gzip", pack(t, "deflate, gzip", page), dag.PageLive, "one\ntwo"},
		{"three", "gzip, gzip, gzip", pack(t, "gzip, gzip, gzip", page), dag.PageLive, ""},
		{"one that nobody asked for", "br", []byte("\x0b\x02\x80words\x03"), dag.PageLive, ""},
		{"cut", "gzip", half[:len(half)-9], dag.PageLive, strings.TrimSpace(strings.Repeat("one two ", 10))},
		{"packed nothing", "gzip", pack(t, "gzip", nil), dag.PageDead, ""},
		{"nothing", "gzip", nil, dag.PageDead, ""},
		{"not what it says", "gzip", page, dag.PageDead, ""},
		{"not what it says", "deflate", page, dag.PageDead, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Content-Encoding", tt.coding)
				_, _ = w.Write(tt.body)
			})
			r := newRig(t, Options{AllowHosts: []string{s.host}})
			if page := r.read(t, s.URL+"/x"); page.Verdict != tt.verdict || page.Text != tt.text || page.Attempts != 1 {
				t.Errorf("%+v; want %s with %q", page, tt.verdict, tt.text)
			}
		})
	}
}

// TestPackedNothingWithoutEnd: a body that unpacks to nothing, for as long as it is
// read.
func TestPackedNothingWithoutEnd(t *testing.T) {
	empty := bytes.Repeat(pack(t, "gzip", nil), 1000)
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		for {
			if _, err := w.Write(empty); err != nil {
				return
			}
		}
	})
	r := newRig(t, Options{AllowHosts: []string{s.host}})
	if page := r.read(t, s.URL); page.Verdict != dag.PageDead || page.Why != errCoding.Error() || page.Attempts != 1 {
		t.Errorf("%+v", page)
	}
}
