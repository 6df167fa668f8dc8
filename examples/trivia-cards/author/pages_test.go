package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/completion"
)

// The committed cassette holds a page for each address that a report names, and
// none besides.
func TestCassetteHoldsThePages(t *testing.T) {
	cassette, err := completion.ReadCassette("../cassette.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := loadScript(t).pages()
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, p := range pages {
		want[p.Page.URL] = pageLine(t, &p)
	}
	for _, p := range cassette.Pages() {
		got[p.Page.URL] = pageLine(t, p)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record the cassette anew with `go run ./examples/trivia-cards/author` (-script +cassette):\n%s", diff)
	}
}

func pagesByURL(t *testing.T, s *Script) map[string]completion.RecordedPage {
	t.Helper()
	pages, err := s.pages()
	if err != nil {
		t.Fatal(err)
	}
	byURL := map[string]completion.RecordedPage{}
	for _, p := range pages {
		byURL[p.Page.URL] = p
	}
	return byURL
}

func pageLine(t *testing.T, p *completion.RecordedPage) string {
	t.Helper()
	line, err := p.Line()
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// A page that is shown holds all that reports quote from it.
func TestPagesHoldTheirQuotes(t *testing.T) {
	s := loadScript(t)
	byURL := pagesByURL(t, s)
	live := 0
	for _, c := range candidates(s) {
		for _, source := range c.sources() {
			p := byURL[source[0]]
			if p.Page.Verdict != dag.PageLive {
				continue
			}
			live++
			if !strings.Contains(p.Text, source[1]) {
				t.Errorf("%s: the page %s does not hold %q", c.Title, source[0], source[1])
			}
		}
	}
	if live < 100 {
		t.Errorf("%d sources are live pages", live)
	}
}

func TestPagesOfAScriptThatIsWrong(t *testing.T) {
	const address = "https://www.britannica.com/event/Fall-of-Constantinople-1453"
	for _, tt := range []struct {
		name string
		spot [2]int // batch and candidate that get the page
		url  string
		want string
	}{
		{"of another candidate", [2]int{1, 0}, address, `history/easy/2, "Neil Armstrong": ` + address + ` is a page of another candidate already`},
		{"of no report", [2]int{0, 0}, "https://www.loc.gov/x", `history/easy/1, "Fall of Constantinople": no report names the page https://www.loc.gov/x`},
	} {
		s := loadScript(t)
		c := s.Batches[tt.spot[0]].Candidates[tt.spot[1]]
		c.Pages = append(c.Pages, Page{URL: tt.url})
		if _, err := s.pages(); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v; want %s", tt.name, err, tt.want)
		}
	}
}
