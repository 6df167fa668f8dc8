package gate

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func quotedSources(sources any) *dag.Check {
	return &dag.Check{Kind: "quoted", Code: "R_QUOTE", Args: map[string]dag.Expr{"sources": val(sources)}}
}

func TestQuoted(t *testing.T) {
	const text = "In 1453 Mehmed II took Constantinople, and made it his capital."
	table := map[string]dag.Page{
		"http://live.org/":    {Verdict: dag.PageLive, Status: 200, FinalURL: "http://live.org/", Text: text},
		"http://pdf.org/":     {Verdict: dag.PageLive, Status: 200, FinalURL: "http://pdf.org/"},
		"http://signs.org/":   {Verdict: dag.PageLive, Status: 200, FinalURL: "http://signs.org/", Text: " — \u200b "},
		"http://dead.org/":    {Verdict: dag.PageDead, Status: 404, Why: "status 404", Text: text},
		"http://blocked.org/": {Verdict: dag.PageBlocked, Status: 403, Why: "status 403", Text: text},
		"http://zero.org/":    {Status: 200, Text: text},
	}
	live := func(quote string) source { return source{URL: "http://live.org/", Quote: quote} }
	at := func(host string) source { return source{URL: "http://" + host + "/", Quote: "Mehmed II"} }
	detail := func(at, why string) []Detail { return []Detail{{Code: "R_QUOTE", At: at, Why: why}} }
	for _, tt := range []struct {
		name    string
		sources any
		end     dag.End
		detail  []Detail
	}{
		{"it stands", []source{live("Mehmed II took Constantinople")}, dag.Accepted, nil},
		{"it stands with words left out", []source{live("MEHMED II … “made it his capital”")}, dag.Accepted, nil},
		{"it does not", []source{live("Mehmed II"), live("Mehmed II … took Rome")}, dag.Rejected,
			detail("sources[1].quote", `"took Rome" does not stand in the first 64 KiB of http://live.org/`)},
		{"a part of a word", []source{live("Constantin")}, dag.Rejected,
			detail("sources[0].quote", `"Constantin" does not stand in the first 64 KiB of http://live.org/`)},
		{"a blank quote", []source{live(" \u200b")}, dag.Rejected, detail("sources[0].quote", "the quote is blank")},
		{"no quote", []source{{URL: "http://live.org/"}}, dag.Rejected, detail("sources[0].quote", "the quote is blank")},
		{"a quote without words", []source{live("…")}, dag.Rejected,
			detail("sources[0].quote", `"…" does not stand in the first 64 KiB of http://live.org/`)},
		{"no URL", []source{{Quote: "Mehmed II"}}, dag.Rejected, detail("sources[0].url", "there is no URL")},
		{"no sources", []source{}, dag.Rejected, detail("sources", "there are no sources")},
		{"null", nil, dag.Rejected, []Detail{{Code: "R_QUOTE", Why: "E_EXPR: sources is null", Cause: "E_EXPR"}}},
		{"nothing that can be read", []source{at("pdf.org")}, dag.Reviewed, detail("sources[0].quote", "http://pdf.org/ has no text that can be read")},
		{"no word that can be read", []source{at("signs.org")}, dag.Reviewed, detail("sources[0].quote", "http://signs.org/ has no text that can be read")},
		{"a dead page", []source{at("dead.org")}, dag.Rejected, detail("sources[0].quote", "http://dead.org/ is dead: status 404")},
		{"a blocked page", []source{at("blocked.org")}, dag.Reviewed, detail("sources[0].quote", "http://blocked.org/ is blocked: status 403")},
		{"nobody answers", []source{at("gone.org")}, dag.Reviewed, detail("sources[0].quote", "http://gone.org/ is dead: no such host")},
		{"a page without a verdict", []source{at("zero.org")}, dag.Reviewed, detail("sources[0].quote", `what http://zero.org/ came to is "", which says nothing`)},
		{"in doubt here, not there elsewhere", []source{at("pdf.org"), live("Rome")}, dag.Rejected, []Detail{
			{Code: "R_QUOTE", At: "sources[0].quote", Why: "http://pdf.org/ has no text that can be read"},
			{Code: "R_QUOTE", At: "sources[1].quote", Why: `"Rome" does not stand in the first 64 KiB of http://live.org/`},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, _ := withPages(t, t.TempDir(), pageTable(table), quotedSources(tt.sources))
			v := judge(t, mustOpen(t, o), withURLs("one"))[0]
			if v.Err != nil || v.End != tt.end {
				t.Fatalf("%s %v %+v", v.End, v.Err, v.Details)
			}
			if diff := cmp.Diff(tt.detail, v.Details); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The page that the live check has read is the page that is searched.
func TestQuotedReadsOnce(t *testing.T) {
	var reads atomic.Int32
	o, spec := withPages(t, t.TempDir(), pagesFunc(func(_ context.Context, address string) (*dag.Page, error) {
		reads.Add(1)
		return &dag.Page{URL: address, Verdict: dag.PageLive, Status: 200, FinalURL: address, Text: "Mehmed II took it"}, nil
	}), livePages(), quotedSources([]source{{URL: "http://live.org/", Quote: "Mehmed II"}, {URL: "http://other.org/", Quote: "took it"}}))
	spec.Corpus.EvidenceRecord = object(map[string]dag.Expr{"quoted": get("checks.quoted")})
	dir := o.Dir
	if v := judge(t, mustOpen(t, o), withURLs("one", "http://live.org/"))[0]; v.End != dag.Accepted || reads.Load() != 2 {
		t.Errorf("%s %v, %d pages were read", v.End, v.Details, reads.Load())
	}
	got, _, err := valueAt([]byte(lines(t, dir, "meta/verification.jsonl")[0]), jsonPointer("quoted"))
	if want := `{"figure":2,"given":2,"quotes":2,"state":"held"}`; err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
}
