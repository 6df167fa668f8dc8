package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestSources(t *testing.T) {
	const good, other = `{"url":"https://www.nps.gov/a","quote":"q","supports":["claim","answer"]}`, `{"url":"https://www.nasa.gov/b","quote":"q","supports":["answer","claim","more"]}`
	with := func(url string) string {
		return `[` + good + `,{"url":"` + url + `","quote":"q","supports":["claim","answer"]}]`
	}
	third := func(source string) string { return `[` + good + `,` + other + `,` + source + `]` }
	none := func(at, why string) []Detail { return []Detail{{Code: "R_UNPROVABLE", At: at, Why: why}} }
	for _, tt := range []struct {
		name, sources string
		usable        float64
		detail        []Detail // nil: it holds
	}{
		{"two", `[` + good + `,` + other + `]`, 2, nil},
		{"the same twice, which another check tells", `[` + good + `,` + good + `]`, 2, nil},
		{"one", `[` + good + `]`, 1, none("sources", "1 of 1 sources are usable, at least 2 must be")},
		{"none", `[]`, 0, none("sources", "0 of 0 sources are usable, at least 2 must be")},
		{"an empty URL", with(""), 1, none("sources[1].url", "there is no URL")},
		{"a URL of white space", with(" \\u00a0"), 1, none("sources[1].url", "there is no URL")},
		{"a URL that cannot be seen", with("\\u200b"), 1, none("sources[1].url", "there is no URL")},
		{"a third without URL", third(`{"quote":"q","supports":["claim","answer"]}`), 2, none("sources[2].url", "there is no URL")},
		{"a third whose URL is null", third(`{"url":null,"quote":"q","supports":["claim","answer"]}`), 2, none("sources[2].url", "there is no URL")},
		{"a third that is null", third(`null`), 2, none("sources[2].url", "there is no URL")},
		{"a third that is unusable otherwise", third(`{"url":"https://8.8.8.8/","quote":"q","supports":["claim","answer"]}`), 2, nil},
		{"credentials", with("https://wikipedia.org@evil.com/x"), 1, none("sources[1].url", "the URL holds credentials before its host")},
		{"an address", with("https://8.8.8.8/"), 1, none("sources[1].url", "the host 8.8.8.8 is an IP address, which belongs to no domain")},
		{"an address in hexadecimal", with("https://0x08080808/"), 1, none("sources[1].url", "the host 8.8.8.8 is an IP address, which belongs to no domain")},
		{"an IPv6 address", with("https://[2001:db8::1]/"), 1, none("sources[1].url", "the host 2001:db8::1 is an IP address, which belongs to no domain")},
		{"a single label", with("https://localhost/"), 1, none("sources[1].url", "the host localhost is a single label")},
		{"a public suffix", with("https://co.uk/"), 1, none("sources[1].url", "the host co.uk is a public suffix, which nobody owns")},
		{"a private suffix", with("https://github.io/"), 1, none("sources[1].url", "the host github.io is a public suffix, which nobody owns")},
		{"another scheme", with("ftp://www.nasa.gov/"), 1, none("sources[1].url", "the URL does not start with http:// or https://")},
		{"a script", with("javascript:alert(1)"), 1, none("sources[1].url", "the URL does not start with http:// or https://")},
		{"a blank quote", `[` + good + `,{"url":"https://www.nasa.gov/","quote":" \u200b","supports":["claim","answer"]}]`, 1, none("sources[1].quote", "the quote is blank")},
		{"no quote", `[` + good + `,{"url":"https://www.nasa.gov/","supports":["claim","answer"]}]`, 1, none("sources[1].quote", "the quote is blank")},
		{"the claim alone", `[` + good + `,{"url":"https://www.nasa.gov/","quote":"q","supports":["claim"]}]`, 1, none("sources[1].supports", "it does not support the answer")},
		{"the answer alone", `[` + good + `,{"url":"https://www.nasa.gov/","quote":"q","supports":["answer"]}]`, 1, none("sources[1].supports", "it does not support the claim")},
		{"supports nothing", `[` + good + `,{"url":"https://www.nasa.gov/","quote":"q"}]`, 1, none("sources[1].supports", "it does not support the claim")},
		{"supports in capitals", `[` + good + `,{"url":"https://www.nasa.gov/","quote":"q","supports":["Claim","Answer"]}]`, 1, none("sources[1].supports", "it does not support the claim")},
		{"a name in capitals", `[` + good + `,{"URL":"https://www.nasa.gov/","quote":"q","supports":["claim","answer"]}]`, 1, none("sources[1].url", "there is no URL")},
		{"all that is wrong", `[{"url":""},{"url":"https://co.uk/"}]`, 0, []Detail{
			{Code: "R_UNPROVABLE", At: "sources[0].url", Why: "there is no URL"},
			{Code: "R_UNPROVABLE", At: "sources[1].url", Why: "the host co.uk is a public suffix, which nobody owns"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := &dag.Check{Kind: "sources", Code: "R_UNPROVABLE", Args: map[string]dag.Expr{"sources": get("card.sources"), "supports": val([]string{"claim", "answer"})}}
			v := judge(t, mustOpen(t, options(t, t.TempDir(), plain(check))), cardCandidate("one", "art", `{"q":"One?","sources":`+tt.sources+`}`))[0]
			if v.Err != nil || (v.End == dag.Accepted) != (tt.detail == nil) || *v.Checks[0].Figure != tt.usable {
				t.Errorf("%s %v %+v", v.End, v.Err, v.Checks)
			}
			if diff := cmp.Diff(tt.detail, v.Details); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, sources := range map[string]string{
		"null": `null`, "a text": `"https://www.nps.gov/"`, "an object": `{}`, "texts": `["https://www.nps.gov/"]`,
		"a URL that is a number": `[{"url":1}]`, "supports that is a text": `[{"url":"https://www.nps.gov/","quote":"q","supports":"claim"}]`,
	} {
		check := &dag.Check{Kind: "sources", Code: "R_UNPROVABLE", Args: map[string]dag.Expr{"sources": get("card.sources")}}
		v := judge(t, mustOpen(t, options(t, t.TempDir(), plain(check))), cardCandidate("one", "art", `{"q":"One?","sources":`+sources+`}`))[0]
		if v.Err != nil || v.End != dag.Rejected || codes(v) != "R_UNPROVABLE" || v.Details[0].Cause != dag.EExpr {
			t.Errorf("%s: %s %v %+v", name, v.End, v.Err, v.Details)
		}
	}
}

// How many domains URLs have, as they are given.
func TestUnrelatedDomains(t *testing.T) {
	for _, tt := range []struct {
		name  string
		urls  []string
		count float64 // two or more: it holds
	}{
		{"two agencies", []string{"https://www.nps.gov/", "https://www.nasa.gov/"}, 2},
		{"two owners below github.io", []string{"https://a.github.io/", "https://b.github.io/"}, 2},
		{"one owner below github.io", []string{"https://a.github.io/x", "https://a.github.io/y"}, 1},
		{"two companies of one country", []string{"https://a.co.uk/", "https://b.co.uk/"}, 2},
		{"two hosts of one house", []string{"https://en.wikipedia.org/a", "https://de.wikipedia.org/a"}, 1},
		{"the same URL twice", []string{"https://www.nasa.gov/p", "https://www.nasa.gov/p"}, 1},
		{"another scheme, port, case and final dot", []string{"https://www.nasa.gov/p", "http://WWW.NASA.GOV.:8080/p"}, 1},
		{"its name in two scripts", []string{"https://bücher.de/", "https://xn--bcher-kva.de/"}, 1},
		{"a page and its archived copy", []string{"https://www.nasa.gov/p", "https://web.archive.org/web/2020/https://www.nasa.gov/p"}, 1},
		{"copies of two pages", []string{"https://web.archive.org/web/2020/https://www.nasa.gov/p", "https://web.archive.org/web/2020/https://www.nps.gov/p"}, 2},
		{"a page and its AMP copy", []string{"https://www.nasa.gov/p", "https://www-nasa-gov.cdn.ampproject.org/c/s/www.nasa.gov/p"}, 1},
		{"a page and its translation", []string{"https://www.nasa.gov/p", "https://www-nasa-gov.translate.goog/p"}, 1},
		{"a third on a repeated domain", []string{"https://en.wikipedia.org/a", "https://de.wikipedia.org/a", "https://www.nasa.gov/p"}, 2},
		{"what has no domain counts for nothing", []string{"https://www.nasa.gov/p", "https://8.8.8.8/", "https://localhost/", "https://co.uk/", "ftp://www.nps.gov/", "https://x@www.nps.gov/", ""}, 1},
		{"nothing", []string{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := judge(t, mustOpen(t, options(t, t.TempDir(), plain(unrelatedURLs()))), withURLs("one", tt.urls...))[0]
			if v.Err != nil || (v.End == dag.Accepted) != (tt.count >= 2) || *v.Checks[0].Figure != tt.count {
				t.Errorf("%s %v %+v", v.End, v.Err, v.Checks)
			}
		})
	}
}

// Keys are looked up in order, in the corpus and in the batch, over all buckets.
func TestUnique(t *testing.T) {
	dir := t.TempDir()
	check := &dag.Check{Kind: "unique", Code: "R_DUP", Args: map[string]dag.Expr{"keys": get("card.keys")}}
	spec := plain(check)
	spec.Corpus.ID = get("card.q")
	card := func(name, keys string) *Candidate {
		return cardCandidate(name, "art", `{"q":"`+name+`","keys":`+keys+`}`)
	}
	g := mustOpen(t, options(t, dir, spec))
	elsewhere := card("far", `["in another bucket"]`)
	elsewhere.Bucket = "music"
	first := judge(t, g, card("one", `["a","b"]`), card("two", `["c"]`), elsewhere)
	for _, v := range first {
		if v.Err != nil || v.End != dag.Accepted {
			t.Fatalf("%s %v %+v", v.End, v.Err, v.Details)
		}
	}
	for _, again := range []bool{false, true} {
		if again {
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			g = mustOpen(t, options(t, dir, spec))
		}
		for _, tt := range []struct{ name, keys, at, why string }{
			{"the first key", `["a"]`, "keys[0]", "the accepted record one has this key"},
			{"the second key", `["x","b"]`, "keys[1]", "the accepted record one has this key"},
			{"the first of two that are taken", `["c","a"]`, "keys[0]", "the accepted record two has this key"},
			{"of another bucket", `["x","in another bucket"]`, "keys[1]", "the accepted record far has this key"},
			{"an empty key", `["x",""]`, "keys[1]", "the key is empty"},
			{"a key that is null", `[null]`, "keys[0]", "the key is empty"},
			{"no keys", `[]`, "keys", "there are no keys"},
		} {
			c := card(tt.name, tt.keys)
			c.Anew = true
			v := judge(t, g, c)[0]
			want := []Detail{{Code: "R_DUP", At: tt.at, Why: tt.why}}
			if diff := cmp.Diff(want, v.Details); v.Err != nil || v.End != dag.Rejected || diff != "" {
				t.Errorf("%s: %s %v\n%s", tt.name, v.End, v.Err, diff)
			}
		}
	}
	// The gate compares keys as they are: what makes two questions equal is the
	// pipeline's to say.
	v := judge(t, g, card("three", `["A"]`), card("four", `["x","A"]`), card("five", `["A "]`))
	if v[0].End != dag.Accepted || codes(v[1]) != "R_DUP" || v[1].Details[0].Why != "the accepted record three has this key" || v[2].End != dag.Accepted {
		t.Errorf("%s, %s %+v, %s", v[0].End, v[1].End, v[1].Details, v[2].End)
	}
}
