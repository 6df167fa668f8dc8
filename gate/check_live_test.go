package gate

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// pageTable answers from a table; an address that is not in it is dead, and nobody
// answers there.
func pageTable(table map[string]dag.Page) pagesFunc {
	return func(_ context.Context, address string) (*dag.Page, error) {
		page, ok := table[address]
		if !ok {
			page = dag.Page{Verdict: dag.PageDead, Why: "no such host", NoAnswer: true}
		}
		page.URL = address
		return &page, nil
	}
}

var someWeb = map[string]dag.Page{
	"http://live.org/":    {Verdict: dag.PageLive, Status: 200, FinalURL: "http://live.org/"},
	"http://well.org/":    {Verdict: dag.PageLive, Status: 206, FinalURL: "http://well.org/here"},
	"http://dead.org/":    {Verdict: dag.PageDead, Status: 404, FinalURL: "http://dead.org/", Why: "status 404"},
	"http://mute.org/":    {Verdict: dag.PageDead, Status: 410, FinalURL: "http://mute.org/"},
	"http://blocked.org/": {Verdict: dag.PageBlocked, Status: 403, FinalURL: "http://blocked.org/", Why: "status 403"},
	"http://wall.org/":    {Verdict: dag.PageBlocked, Status: 200, FinalURL: "http://wall.org/", Why: "a wall of consent"},
	"http://zero.org/":    {Status: 200, FinalURL: "http://zero.org/"},
	"http://word.org/":    {Verdict: "fine", Status: 200, FinalURL: "http://word.org/"},
}

func TestLive(t *testing.T) {
	for _, tt := range []struct {
		name   string
		urls   []string
		args   map[string]dag.Expr
		end    dag.End
		figure float64
		detail []Detail
	}{
		{"all live", []string{"http://live.org/", "http://well.org/"}, nil, dag.Accepted, 2, nil},
		{"one is dead", []string{"http://live.org/", "http://dead.org/"}, nil, dag.Rejected, 1,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[1]", Why: "http://dead.org/ is dead: status 404"}}},
		{"dead without a reason", []string{"http://mute.org/"}, nil, dag.Rejected, 0,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://mute.org/ is dead: status 410"}}},
		{"blocked refuses, and is told apart", []string{"http://blocked.org/", "http://live.org/"}, nil, dag.Rejected, 1,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://blocked.org/ is blocked: status 403"}}},
		{"blocked by word", []string{"http://wall.org/"}, map[string]dag.Expr{"blocked": val("dead")}, dag.Rejected, 0,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://wall.org/ is blocked: a wall of consent"}}},
		{"blocked is undecided", []string{"http://blocked.org/", "http://live.org/"}, map[string]dag.Expr{"blocked": val("undecided")}, dag.Reviewed, 1,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://blocked.org/ is blocked: status 403"}}},
		{"blocked is undecided, and one is dead", []string{"http://blocked.org/", "http://dead.org/"}, map[string]dag.Expr{"blocked": val("undecided")}, dag.Rejected, 0,
			[]Detail{
				{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://blocked.org/ is blocked: status 403"},
				{Code: "R_SRC_DEAD", At: "urls[1]", Why: "http://dead.org/ is dead: status 404"},
			}},
		{"a page without a verdict", []string{"http://live.org/", "http://zero.org/"}, nil, dag.Reviewed, 1,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[1]", Why: `what http://zero.org/ came to is "", which says nothing`}}},
		{"a word that is no verdict", []string{"http://word.org/"}, nil, dag.Reviewed, 0,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: `what http://word.org/ came to is "fine", which says nothing`}}},
		{"the same dead one twice is told once", []string{"http://dead.org/", "http://dead.org/"}, nil, dag.Rejected, 0,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://dead.org/ is dead: status 404"}}},
		{"nobody answers, and there is no canary", []string{"http://gone.org/"}, nil, dag.Rejected, 0,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://gone.org/ is dead: no such host"}}},
		{"nobody answers, and the canary is live", []string{"http://gone.org/"}, map[string]dag.Expr{"canary": val("http://live.org/")}, dag.Rejected, 0,
			[]Detail{{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://gone.org/ is dead: no such host"}}},
		{"somebody answers, so the canary is not asked", []string{"http://gone.org/", "http://dead.org/"}, map[string]dag.Expr{"canary": val("http://gone.org/")}, dag.Rejected, 0,
			[]Detail{
				{Code: "R_SRC_DEAD", At: "urls[0]", Why: "http://gone.org/ is dead: no such host"},
				{Code: "R_SRC_DEAD", At: "urls[1]", Why: "http://dead.org/ is dead: status 404"},
			}},
		{"nobody answers, nor the canary", []string{"http://gone.org/", "http://lost.org/"}, map[string]dag.Expr{"canary": val("http://silent.org/")}, "", 0, nil},
		{"nobody answers, and the canary is blocked", []string{"http://gone.org/"}, map[string]dag.Expr{"canary": val("http://blocked.org/")}, "", 0, nil},
		{"nobody answers, and the canary says nothing", []string{"http://gone.org/"}, map[string]dag.Expr{"canary": val("http://zero.org/")}, "", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check := livePages()
			for name, e := range tt.args {
				check.Args[name] = e
			}
			o, _ := withPages(t, dir, pageTable(someWeb), check)
			v := judge(t, mustOpen(t, o), withURLs("one", tt.urls...))[0]
			if tt.end == "" {
				if v.Err == nil || dag.KindOf(v.Err) != dag.KindInfrastructure || len(lines(t, dir, "meta/rejections.jsonl")) != 0 {
					t.Errorf("%s %v", v.End, v.Err)
				}
				return
			}
			if v.Err != nil || v.End != tt.end || *v.Checks[0].Figure != tt.figure {
				t.Fatalf("%s %v, %+v", v.End, v.Err, v.Checks)
			}
			if diff := cmp.Diff(tt.detail, v.Details); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What cannot be read is not asked for, and never live.
func TestLiveURLs(t *testing.T) {
	for _, tt := range []struct {
		name string
		urls any
		want Detail
	}{
		{"none", []string{}, Detail{Code: "R_SRC_DEAD", At: "urls", Why: "there are no URLs"}},
		{"an empty one", []string{"http://live.org/", ""}, Detail{Code: "R_SRC_DEAD", At: "urls[1]", Why: "there is no URL"}},
		{"one that cannot be seen", []string{"\u200b"}, Detail{Code: "R_SRC_DEAD", At: "urls[0]", Why: "there is no URL"}},
		{"one that is absent", []any{"http://live.org/", nil}, Detail{Code: "R_SRC_DEAD", At: "urls[1]", Why: "there is no URL"}},
		{"null", nil, Detail{Code: "R_SRC_DEAD", Why: "E_EXPR: urls is null", Cause: "E_EXPR"}},
		{"a text", "http://live.org/", Detail{Code: "R_SRC_DEAD", Cause: "E_EXPR"}},
		{"numbers", []int{1}, Detail{Code: "R_SRC_DEAD", Cause: "E_EXPR"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := livePages()
			check.Args["urls"] = val(tt.urls)
			o, _ := withPages(t, t.TempDir(), pagesFunc(func(_ context.Context, address string) (*dag.Page, error) {
				t.Errorf("%q was asked for", address)
				return &dag.Page{URL: address, Verdict: dag.PageLive, Status: 200}, nil
			}), check)
			v := judge(t, mustOpen(t, o), withURLs("one"))[0]
			if v.Err != nil || v.End != dag.Rejected || len(v.Details) != 1 {
				t.Fatalf("%s %v %+v", v.End, v.Err, v.Details)
			}
			if tt.want.Why == "" {
				v.Details[0].Why = ""
			}
			if diff := cmp.Diff(tt.want, v.Details[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What the web came to can be read by the evidence, in the order of the URLs, and
// names each host that is exempt.
func TestPagesInEvidence(t *testing.T) {
	dir := t.TempDir()
	exempt := dag.Page{
		Verdict: dag.PageLive, Status: 200, FinalURL: "http://wiki.intranet/b", Digest: "ab", Attempts: 2, Text: "never written",
		Hops: []string{"http://wiki.intranet/a"}, Exempt: []string{"wiki.intranet", "proxy.intranet"}, Recorded: true,
	}
	table := map[string]dag.Page{"http://live.org/": someWeb["http://live.org/"], "http://wiki.intranet/a": exempt}
	o, spec := withPages(t, dir, pageTable(table), livePages(), uniqueQuestion())
	spec.Corpus.EvidenceRecord = object(map[string]dag.Expr{"pages": get("checks.live.pages"), "finals": get("checks.live.pages.*.final_url")})
	if v := judge(t, mustOpen(t, o), withURLs("one", "http://wiki.intranet/a", "http://live.org/", "http://wiki.intranet/a"))[0]; v.End != dag.Accepted {
		t.Fatalf("%+v", v)
	}
	row := lines(t, dir, "meta/verification.jsonl")[0]
	wiki := `{"at":"0001-01-01T00:00:00.000Z","attempts":2,"digest":"ab","exempt":["wiki.intranet","proxy.intranet"],"final_url":"http://wiki.intranet/b","hops":["http://wiki.intranet/a"],"recorded":true,"status":200,"url":"http://wiki.intranet/a","verdict":"live"}`
	for member, want := range map[string]string{
		"pages":  "[" + wiki + `,{"at":"0001-01-01T00:00:00.000Z","final_url":"http://live.org/","status":200,"url":"http://live.org/","verdict":"live"},` + wiki + "]",
		"finals": `["http://wiki.intranet/b","http://live.org/","http://wiki.intranet/b"]`,
		"exempt": `["proxy.intranet","wiki.intranet"]`,
	} {
		if got, _, err := valueAt([]byte(row), jsonPointer(member)); err != nil || string(got) != want {
			t.Errorf("%s is %s, want %s (%v)", member, got, want, err)
		}
	}
	if strings.Contains(row, "never written") {
		t.Error("the text of a page is in the evidence")
	}
}

// checks.live is there for a check that failed, too: why can tell blocked from dead.
func TestFoundPages(t *testing.T) {
	o, _ := withPages(t, t.TempDir(), pageTable(someWeb), livePages())
	e := mustOpen(t, o).Evaluate(context.Background(), withURLs("one", "http://blocked.org/", "http://zero.org/", "http://gone.org/"))
	doc, err := e.j.scope.Lookup(dag.Name{Root: "checks", Member: "live"})
	want := `{"figure":0,"pages":[` +
		`{"at":"0001-01-01T00:00:00.000Z","final_url":"http://blocked.org/","status":403,"url":"http://blocked.org/","verdict":"blocked","why":"status 403"},` +
		`{"at":"0001-01-01T00:00:00.000Z","final_url":"http://zero.org/","status":200,"url":"http://zero.org/","verdict":""},` +
		`{"at":"0001-01-01T00:00:00.000Z","no_answer":true,"url":"http://gone.org/","verdict":"dead","why":"no such host"}],"state":"failed"}`
	if err != nil || string(doc.Bytes) != want {
		t.Errorf("%s, %v", doc.Bytes, err)
	}
	if e.Checks()[0].Evidence != "http://blocked.org/ is blocked: status 403; and 2 more" {
		t.Error(e.Checks()[0].Evidence)
	}
}

func TestLiveArguments(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		v    any
		want string // empty: it is taken
	}{
		{"timeout", "5s", ""},
		{"timeout", "1m30s", ""},
		{"timeout", nil, `open the gate: check "live": timeout is ""; write a number above zero with a unit, such as "20s"`},
		{"timeout", "0s", `open the gate: check "live": timeout is "0s"; write a number above zero with a unit, such as "20s"`},
		{"timeout", "-1s", `open the gate: check "live": timeout is "-1s"; write a number above zero with a unit, such as "20s"`},
		{"timeout", "soon", `open the gate: check "live": timeout is "soon"; write a number above zero with a unit, such as "20s"`},
		{"blocked", "undecided", ""},
		{"blocked", "live", `open the gate: check "live": blocked is "live"; it may be "dead", which it is where it is left out, or "undecided"`},
		{"canary", "https://example.com/", ""},
		{"canary", "example.com", `open the gate: check "live": canary is "example.com": the URL does not start with http:// or https://`},
		{"canary", "", `open the gate: check "live": canary is "": the URL is empty`},
	} {
		check := livePages()
		check.Args[tt.arg] = val(tt.v)
		o, _ := withPages(t, t.TempDir(), pageTable(nil), check)
		g, err := Open(context.Background(), o)
		if err == nil {
			_ = g.Close()
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("%s = %v: %v", tt.arg, tt.v, err)
		}
	}
}
