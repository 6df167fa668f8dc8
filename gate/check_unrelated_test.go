package gate

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

func unrelatedURLs() *dag.Check {
	return &dag.Check{Kind: "unrelated", Code: "R_SRC_LAUNDER", Args: map[string]dag.Expr{"urls": get("card.urls")}}
}

// What is null or blank is no address: it lends no domain, and is never live.
func TestNoAddress(t *testing.T) {
	urls := val([]any{"http://www.nps.gov/", nil, "http://www.nasa.gov/", " "})
	unrelated, err := newUnrelatedCheck(&dag.Check{Args: map[string]dag.Expr{"urls": urls}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := unrelated.judge(&scope{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"nps.gov", "", "nasa.gov", ""}, r.found["domains"]); diff != "" || r.state != held || *r.figure != 2 {
		t.Errorf("unrelated: %s, figure %v\n%s", r.state, *r.figure, diff)
	}
	live, err := newLiveCheck(&dag.Check{Args: map[string]dag.Expr{"urls": urls}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = live.judge(&scope{}); err != nil {
		t.Fatal(err)
	}
	want := []Detail{{At: "urls[1]", Why: "there is no URL"}, {At: "urls[3]", Why: "there is no URL"}}
	if diff := cmp.Diff(want, r.details); diff != "" || r.state != failed {
		t.Errorf("live: %s\n%s", r.state, diff)
	}
}

// Where the URLs lead counts as much as where they begin.
func TestUnrelatedByFinalURL(t *testing.T) {
	unread := &dag.Check{Kind: "live", Code: "R_SRC_DEAD", If: val(false), Args: map[string]dag.Expr{"urls": get("card.urls")}}
	never := &dag.Check{Kind: "quoted", Code: "R_QUOTE", Args: map[string]dag.Expr{"sources": val([]source{{URL: "http://www.nps.gov/ok", Quote: "never said"}})}}
	for _, tt := range []struct {
		name   string
		urls   []string
		checks []*dag.Check // behind unrelated
		codes  string
		why    string
	}{
		{"both stay where they are", []string{"http://www.nps.gov/ok", "http://www.nasa.gov/ok"}, []*dag.Check{livePages()}, "", ""},
		{"two short links to one house", []string{"http://short.one/to/www.nps.gov", "http://short.two/to/nps.gov"}, []*dag.Check{livePages()},
			"R_SRC_LAUNDER", "the sources lead to one domain, nps.gov, at least 2 domains are asked for"},
		{"a short link to the other source", []string{"http://short.one/to/www.nps.gov", "http://www.nps.gov/ok"}, []*dag.Check{livePages()},
			"R_SRC_LAUNDER", "the sources lead to one domain, nps.gov, at least 2 domains are asked for"},
		{"to two houses of one owner", []string{"http://short.one/to/en.wikipedia.org", "http://short.two/to/www.wikidata.org"}, []*dag.Check{livePages()},
			"R_SRC_LAUNDER", "the sources lead to one domain, wikidata.org, at least 2 domains are asked for"},
		{"to an address that is no domain", []string{"http://short.one/to/8.8.8.8", "http://www.nps.gov/ok"}, []*dag.Check{livePages()},
			"R_SRC_LAUNDER", "the sources lead to one domain, nps.gov, at least 2 domains are asked for"},
		{"to a copy of the other", []string{"http://short.one/to/web.archive.org/web/2020/http://www.nps.gov", "http://www.nps.gov/ok"}, []*dag.Check{livePages()},
			"R_SRC_LAUNDER", "the sources lead to one domain, nps.gov, at least 2 domains are asked for"},
		{"one house by two names, leading apart", []string{"http://a.nps.gov/to/www.nasa.gov", "http://b.nps.gov/to/www.britannica.com"}, []*dag.Check{livePages()},
			"R_SRC_LAUNDER", "the sources belong to one domain, nps.gov, at least 2 domains are asked for"},
		{"two short links of one house to two", []string{"http://short.one/to/www.nps.gov", "http://short.two/to/www.nasa.gov"}, []*dag.Check{livePages()}, "", ""},
		{"a third leads back", []string{"http://www.nps.gov/ok", "http://www.nasa.gov/ok", "http://short.one/to/www.nasa.gov"}, []*dag.Check{livePages()}, "", ""},
		{"a dead page is told, and nothing of where it leads", []string{"http://short.one/to/www.nps.gov", "http://nps.org/404"}, []*dag.Check{livePages()},
			"R_SRC_DEAD", "http://nps.org/404 is dead: status 404"},
		{"nothing was read", []string{"http://short.one/to/www.nps.gov", "http://short.two/to/www.nps.gov"}, []*dag.Check{unread}, "", ""},
		{"nobody asks for pages", []string{"http://short.one/to/www.nps.gov", "http://short.two/to/www.nps.gov"}, nil, "", ""},
		{"in declared order before what fails behind it", []string{"http://short.one/to/www.nps.gov", "http://www.nps.gov/ok"}, []*dag.Check{livePages(), never},
			"R_SRC_LAUNDER R_QUOTE", "the sources lead to one domain, nps.gov, at least 2 domains are asked for"},
		{"in declared order before what failed before it", []string{"http://short.one/to/www.nps.gov", "http://www.nps.gov/ok"}, []*dag.Check{never, livePages()},
			"R_SRC_LAUNDER R_QUOTE", "the sources lead to one domain, nps.gov, at least 2 domains are asked for"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := newLoopback(t, site())
			o, spec := withPages(t, t.TempDir(), web, append([]*dag.Check{unrelatedURLs()}, tt.checks...)...)
			spec.SameOwner = [][]string{{"wikidata.org", "wikipedia.org"}}
			v := judge(t, mustOpen(t, o), withURLs("one", tt.urls...))[0]
			if v.Err != nil || codes(v) != tt.codes || (v.End == dag.Accepted) != (tt.codes == "") {
				t.Fatalf("%s %q %v %+v", v.End, codes(v), v.Err, v.Details)
			}
			if tt.codes != "" && (v.Details[0].Why != tt.why || v.Message != tt.why) {
				t.Errorf("%q, %q; want %q", v.Details[0].Why, v.Message, tt.why)
			}
		})
	}
}

// A check that ends its phase ends the phase in which it comes to fail; a shadowed
// one only leaves a finding.
func TestUnrelatedAgainInItsMode(t *testing.T) {
	urls := []string{"http://short.one/to/www.nps.gov", "http://www.nps.gov/ok"}
	second := livePages()
	second.Name = "second"
	for _, tt := range []struct {
		name   string
		change func(*dag.Check)
		end    dag.End
		ran    int
	}{
		{"as it is", func(*dag.Check) {}, dag.Rejected, 3},
		{"ends", func(c *dag.Check) { c.Ends = true }, dag.Rejected, 2},
		{"shadowed", func(c *dag.Check) { c.Ends, c.Mode = true, &dag.Mode{Name: "m"} }, dag.Reviewed, 4},
		{"asks for a review", func(c *dag.Check) { c.Triage = dag.Review }, dag.Reviewed, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := unrelatedURLs()
			tt.change(check)
			o, _ := withPages(t, t.TempDir(), newLoopback(t, site()), check, livePages(), second, uniqueQuestion())
			v := judge(t, mustOpen(t, o), withURLs("one", urls...))[0]
			if v.Err != nil || v.End != tt.end || len(v.Checks) != tt.ran || v.Checks[0].State != "failed" || len(v.Findings) != 1 {
				t.Errorf("%s %v, %+v, %+v", v.End, v.Err, v.Checks, v.Findings)
			}
		})
	}
}

// A page that is not live leads nowhere: its address keeps the domain that it was
// given with.
func TestUnrelatedByDeadPage(t *testing.T) {
	shadow, live := livePages(), livePages()
	shadow.Mode = &dag.Mode{Name: "m"}
	live.Name, live.Args = "one", map[string]dag.Expr{"urls": val([]string{"http://live.org/"})}
	table := map[string]dag.Page{
		"http://live.org/":  someWeb["http://live.org/"],
		"http://moved.org/": {Verdict: dag.PageDead, Status: 404, FinalURL: "http://live.org/404", Why: "status 404"},
	}
	o, _ := withPages(t, t.TempDir(), pageTable(table), unrelatedURLs(), shadow, live)
	v := judge(t, mustOpen(t, o), withURLs("one", "http://live.org/", "http://moved.org/"))[0]
	if v.Err != nil || v.End != dag.Reviewed || v.Checks[0].State != "held" || *v.Checks[0].Figure != 2 {
		t.Errorf("%s %v %+v", v.End, v.Err, v.Checks)
	}
}

// Both views can be read by the evidence.
func TestUnrelatedInEvidence(t *testing.T) {
	o, spec := withPages(t, t.TempDir(), newLoopback(t, site()), unrelatedURLs(), livePages())
	spec.Corpus.EvidenceRecord = object(map[string]dag.Expr{"domains": get("checks.unrelated")})
	if v := judge(t, mustOpen(t, o), withURLs("one", "http://short.one/to/www.nps.gov", "http://www.nasa.gov/ok", "ftp://x.org/"))[0]; v.Err != nil || codes(v) != "R_SRC_DEAD" {
		t.Fatalf("%s %v %+v", v.End, v.Err, v.Details)
	}
	if v := judge(t, mustOpen(t, o), withURLs("two", "http://short.one/to/www.nps.gov", "http://www.nasa.gov/ok"))[0]; v.End != dag.Accepted {
		t.Fatalf("%s %v %+v", v.End, v.Err, v.Details)
	}
	got, _, err := valueAt([]byte(lines(t, o.Dir, "meta/verification.jsonl")[0]), jsonPointer("domains"))
	want := `{"domains":["short.one","nasa.gov"],"figure":2,"final_domains":["nps.gov","nasa.gov"],"state":"held"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestSameOwner(t *testing.T) {
	for _, tt := range []struct {
		name  string
		table [][]string
		urls  []string
		holds bool
	}{
		{"no table", nil, []string{"https://a.org/", "https://b.org/"}, true},
		{"one owner", [][]string{{"a.org", "b.org"}}, []string{"https://www.a.org/", "https://b.org/"}, false},
		{"one owner in capitals", [][]string{{"A.org", "B.ORG"}}, []string{"https://a.org/", "https://b.org/"}, false},
		{"one owner and another", [][]string{{"a.org", "b.org"}, {"c.org", "d.org"}}, []string{"https://a.org/", "https://d.org/"}, true},
		{"lists that share one are one", [][]string{{"a.org", "b.org"}, {"b.org", "c.org"}}, []string{"https://a.org/", "https://c.org/"}, false},
		{"lists that come to share one are one", [][]string{{"a.org", "b.org"}, {"c.org", "d.org"}, {"d.org", "b.org"}}, []string{"https://a.org/", "https://c.org/"}, false},
		{"a host stands for its domain", [][]string{{"news.bbc.co.uk", "bbc.com"}}, []string{"https://www.bbc.co.uk/", "https://bbc.com/"}, false},
		{"a name in its own letters", [][]string{{"bücher.de", "buch.de"}}, []string{"https://xn--bcher-kva.de/", "https://buch.de/"}, false},
		{"a domain twice", [][]string{{"a.org", "a.org", "b.org"}}, []string{"https://a.org/", "https://c.org/"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := plain(unrelatedURLs())
			spec.SameOwner = tt.table
			v := judge(t, mustOpen(t, options(t, t.TempDir(), spec)), withURLs("one", tt.urls...))[0]
			if v.Err != nil || (v.End == dag.Accepted) != tt.holds {
				t.Errorf("%s %v %+v", v.End, v.Err, v.Details)
			}
		})
	}
	for written, want := range map[string]string{
		"co.uk": `open the gate: check "unrelated": same_owner: "co.uk" is not a domain that somebody owns: the host co.uk is a public suffix, which nobody owns`,
		"wiki":  `open the gate: check "unrelated": same_owner: "wiki" is not a domain that somebody owns: the host wiki is a single label`,
		"":      `open the gate: check "unrelated": same_owner: "" is not a domain that somebody owns: the URL has no host`,
	} {
		spec := plain(unrelatedURLs())
		spec.SameOwner = [][]string{{"a.org", written}}
		g, err := Open(context.Background(), options(t, t.TempDir(), spec))
		if err == nil {
			_ = g.Close()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The order of sources says nothing: neither of usable ones nor of domains, by
// either view. And one source more never takes a verdict back.
func TestSourcesInAnyOrder(t *testing.T) {
	hosts := []string{"a.org", "www.a.org", "b.org", "c.co.uk", "d.c.co.uk", "co.uk", "8.8.8.8", "x@a.org", "e.github.io", "f.github.io"}
	draw := rapid.Custom(func(t *rapid.T) source {
		return source{
			URL:      rapid.SampledFrom([]string{"http://", "https://", "ftp://"}).Draw(t, "scheme") + rapid.SampledFrom(hosts).Draw(t, "host") + "/",
			Quote:    rapid.SampledFrom([]string{"q", "q", "q", " "}).Draw(t, "quote"),
			Supports: rapid.SampledFrom([][]string{{"claim"}, {"claim", "answer"}, {"answer", "claim", "more"}}).Draw(t, "supports"),
		}
	})
	finals := func(address string) *dag.Page {
		final := map[string]string{"http://b.org/": "http://a.org/", "https://c.co.uk/": "https://a.org/", "http://a.org/": "http://8.8.8.8/"}[address]
		return &dag.Page{URL: address, Verdict: dag.PageLive, Status: 200, FinalURL: final}
	}
	sources, unrelated := &sourcesCheck{sources: get("sources"), least: 2, supports: []string{"claim", "answer"}}, &unrelatedCheck{urls: get("sources.*.url"), least: 2}
	judgeAll := func(t *rapid.T, list []source) string {
		row, err := rowOf(map[string]any{"sources": list})
		if err != nil {
			t.Fatal(err)
		}
		s := &scope{names: []dag.Member{{Name: "sources"}}}
		value, _, err := member(row, "sources")
		if err != nil {
			t.Fatal(err)
		}
		s.members = []dag.Doc{dag.NewDoc(value)}
		first, err := sources.judge(s)
		if err != nil {
			t.Fatal(err)
		}
		s.checks = &[]checkState{{check: &check{name: "sources"}, result: first}}
		given, err := unrelated.judge(s)
		if err != nil {
			t.Fatal(err)
		}
		w := &web{pages: map[string]*dag.Page{}}
		for _, source := range list {
			w.pages[source.URL] = finals(source.URL)
		}
		final, err := unrelated.again(given, w)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s %v, %s %v, %s %v", first.state, *first.figure, given.state, *given.figure, final.state, *final.figure)
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(draw, 1, 6).Draw(t, "sources")
		want := judgeAll(t, list)
		other := rapid.Permutation(list).Draw(t, "other order")
		if diff := cmp.Diff(want, judgeAll(t, other)); diff != "" {
			t.Error(diff)
		}
		more := slices.Insert(slices.Clone(list), rapid.IntRange(0, len(list)).Draw(t, "at"), draw.Draw(t, "one more"))
		var before, after [3]string
		var figures, grown [3]float64
		scan := func(s string, states *[3]string, figures *[3]float64) {
			if _, err := fmt.Sscanf(s, "%s %f, %s %f, %s %f", &states[0], &figures[0], &states[1], &figures[1], &states[2], &figures[2]); err != nil {
				t.Fatal(err)
			}
		}
		scan(want, &before, &figures)
		scan(judgeAll(t, more), &after, &grown)
		for i := range before {
			// Every source here has an address, so one more can only help.
			if before[i] == "held" && after[i] != "held" || grown[i] < figures[i] {
				t.Errorf("with one more: %v %v, was %v %v", after, grown, before, figures)
			}
		}
	})
}
