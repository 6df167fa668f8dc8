package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// parsed is a page as it is read with scripts off.
func parsed(t *testing.T, page []byte) *opened {
	t.Helper()
	root, err := html.ParseWithOptions(bytes.NewReader(page), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	return &opened{root: root}
}

// TestHostilePage: whatever stands in a report is text, and with scripts off all but
// the items is there.
func TestHostilePage(t *testing.T) {
	r, items := hostileReport()
	o := parsed(t, pageOf(t, r, items, Options{}))
	o.calm(t)
	if got := len(o.find("script", "")) - len(o.find("script", ".pack")); got != 1 {
		t.Errorf("the page has %d scripts besides the data, not its own alone", got)
	}
	if got := len(o.find("style", "")); got != 1 {
		t.Errorf("the page has %d style sheets", got)
	}
	for n := range o.root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
		if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" && n.Data != plain(n.Data) {
			t.Errorf("the page shows what steers a text: %q", n.Data)
		}
	}
	var headings []string
	for _, h := range o.find("h2", "") {
		headings = append(headings, text(h))
	}
	if diff := cmp.Diff([]string{"Summary", "Graph", "Time", "Spend", "What did not pass", "Items"}, headings); diff != "" {
		t.Errorf("the parts of the page (-want +got):\n%s", diff)
	}
	for _, table := range o.find("table", "") {
		if table.FirstChild == nil || table.FirstChild.Data != "caption" {
			t.Error("a table has no caption")
		}
	}
	if !strings.Contains(o.one(t, "noscript", ""), "scripts are off here") {
		t.Error("it is not said that the items need a script")
	}
}

// TestCut: what a page leaves out is said, and the document has all.
func TestCut(t *testing.T) {
	r, items := manyItems(1000)
	o := parsed(t, pageOf(t, r, items, Options{Most: 300}))
	if got := len(o.find("script", ".pack")); got != 3 { // the index, and 200 and 100 items
		t.Errorf("%d packs", got)
	}
	notes := ""
	for _, n := range o.find("div", ".note") {
		notes += text(n)
	}
	if !strings.Contains(notes, "the first 300 of them") || !strings.Contains(notes, "The other 700") {
		t.Errorf("it is not said what is left out: %s", notes)
	}
	var out bytes.Buffer
	if err := JSON(&out, r, items); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Version int              `json:"version"`
		Items   []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil || d.Version != 1 || len(d.Items) != 1000 {
		t.Errorf("the document has version %d and %d items (%v)", d.Version, len(d.Items), err)
	}
}

func TestTexts(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{plain("a\x1b[1mb\u202ec\td"), "a⟨U+001B⟩[1mb⟨U+202E⟩c\td"},
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(-1234567), "-1,234,567"},
		{money(0), "0"}, {money(0.0123), "0.0123"}, {money(0.5), "0.500"}, {money(12.345), "12.35"}, {money(0.00000123), "0.00000123"},
		{took(1500 * time.Microsecond), "1.5 ms"}, {took(601 * time.Millisecond), "601 ms"}, {took(90 * time.Second), "1 min 30 s"}, {took(25 * time.Hour), "25 h 00 min"},
		{clip("grün", 3), "gr…"}, {clip("gr", 3), "gr"},
		{string(fragment("item", "a b/c#")), "#item=a%20b%2Fc%23"},
	} {
		if test.got != test.want {
			t.Errorf("%q, not %q", test.got, test.want)
		}
	}
}
