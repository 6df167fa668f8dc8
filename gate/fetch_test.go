package gate

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/fetch"
)

// This file runs the gate with the program's own reader of the web, over servers on
// this machine that allow_hosts exempts.

// countedSite serves a site and counts what it is asked for.
func countedSite(t *testing.T) (server *httptest.Server, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	pages := site()
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, asked
}

func hostOf(server *httptest.Server) string { return server.Listener.Addr().String() }

// here resolves every name to this machine.
type here struct{}

func (here) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
}

// without waits, as the reader's sleep.
func without(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func TestOwnReader(t *testing.T) {
	for _, tt := range []struct {
		name   string
		path   string
		allow  bool
		static bool // whether the static checks hold
		end    dag.End
		why    string
		asked  int32
	}{
		{"live", "/ok", true, true, dag.Accepted, "", 1},
		{"dead", "/404", true, true, dag.Rejected, "http://HOST/404 is dead: status 404", 1},
		{"blocked", "/403", true, true, dag.Rejected, "http://HOST/403 is blocked: status 403", 1},
		{"not exempt", "/ok", false, true, dag.Rejected, "http://HOST/ok is dead: ", 0},
		{"refused before", "/ok", true, false, dag.Rejected, "it is not true that false", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server, asked := countedSite(t)
			dir := t.TempDir()
			static := &dag.Check{Kind: "assert", Code: "R_NO", Args: map[string]dag.Expr{"condition": val(tt.static)}}
			o, spec := withPages(t, dir, nil, static, livePages(), uniqueQuestion())
			spec.Corpus.EvidenceRecord = object(map[string]dag.Expr{"pages": get("checks.live.pages")})
			if tt.allow {
				spec.AllowHosts = []string{hostOf(server)}
			}
			g := mustOpen(t, o)
			if g.pages.(*ownPages).client != nil {
				t.Error("there is a client before the first page")
			}
			for range 2 { // the second time it is known
				v := judge(t, g, withURLs("one", server.URL+tt.path))[0]
				if v.Err != nil || v.End != tt.end || asked.Load() != tt.asked {
					t.Fatalf("%s %v %+v, %d requests", v.End, v.Err, v.Details, asked.Load())
				}
			}
			if (g.pages.(*ownPages).client != nil) != tt.static {
				t.Error("a client was made without need, or not where there is one")
			}
			if tt.why != "" {
				row := lines(t, dir, "meta/rejections.jsonl")[0]
				if want := strings.ReplaceAll(tt.why, "HOST", hostOf(server)); !strings.Contains(row, `"why":"`+want) {
					t.Errorf("the rejection does not say %q:\n%s", want, row)
				}
				return
			}
			row := lines(t, dir, "meta/verification.jsonl")[0]
			exempt := fmt.Sprintf(`"exempt":[%q]`, hostOf(server))
			if strings.Count(row, exempt) != 2 || !strings.Contains(row, `"verdict":"live"`) || !strings.Contains(row, `"final_url":"`+server.URL+`/ok"`) {
				t.Errorf("the evidence does not name the page and the exempt host, for it and in all:\n%s", row)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if e := g.Evaluate(context.Background(), withURLs("two", server.URL+"/ok")); e.Err() == nil || !strings.Contains(e.Err().Error(), "the gate is closed") {
				t.Errorf("after Close: %v", e.Err())
			}
		})
	}
}

func TestAllowHostsAreHosts(t *testing.T) {
	spec := plain(livePages())
	spec.AllowHosts = []string{"http://wiki.intranet/"}
	g, err := Open(context.Background(), options(t, t.TempDir(), spec))
	if err == nil {
		_ = g.Close()
	}
	want := `open the gate: allow_hosts: "http://wiki.intranet/" is not a host; write host or host:port, as in wiki.example.com or 127.0.0.1:8080`
	if err == nil || err.Error() != want || dag.KindOf(err) != dag.KindConfig {
		t.Errorf("%v, want %s", err, want)
	}
}

// Candidates that are judged at once and name the same page ask for it once.
func TestOneRequestForManyCandidates(t *testing.T) {
	server, asked := countedSite(t)
	o, spec := withPages(t, t.TempDir(), nil, livePages(), uniqueQuestion())
	spec.AllowHosts = []string{hostOf(server)}
	g := mustOpen(t, o)
	evaluations := make([]*Evaluation, 4)
	var judges sync.WaitGroup
	for i := range evaluations {
		judges.Go(func() {
			evaluations[i] = g.Evaluate(context.Background(), withURLs(fmt.Sprint("one", i), server.URL+"/ok"))
		})
	}
	judges.Wait()
	verdicts, err := g.Commit(context.Background(), evaluations)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if v.Err != nil || v.End != dag.Accepted {
			t.Errorf("%s %v %+v", v.End, v.Err, v.Details)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("%d requests", asked.Load())
	}
}

// Two short links that lead to one house are one source, by the program's reader.
func TestLaunderedLinks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, port, _ := strings.Cut(r.Host, ":")
		if strings.HasPrefix(name, "short.") {
			http.Redirect(w, r, "http://www.nps.gov:"+port+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "Mehmed II took Constantinople in 1453.")
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(hostOf(server))
	if err != nil {
		t.Fatal(err)
	}
	var allow, urls []string
	for _, name := range []string{"short.one", "short.two", "www.nps.gov", "www.nasa.gov"} {
		allow = append(allow, name+":"+port)
		urls = append(urls, "http://"+name+":"+port+"/fall-of-constantinople")
	}
	client := fetch.New(fetch.Options{AllowHosts: allow, Resolver: here{}, Sleep: without})
	defer client.Close()
	o, _ := withPages(t, t.TempDir(), client, unrelatedURLs(), livePages(), &dag.Check{Kind: "quoted", Code: "R_QUOTE", Args: map[string]dag.Expr{
		"sources": calc("sources", func(s dag.Scope) (any, error) {
			urls, err := decode[[]string](s.(*scope), get("card.urls"), "urls")
			var sources []source
			for _, url := range urls {
				sources = append(sources, source{URL: url, Quote: "mehmed II … in 1453"})
			}
			return sources, err
		})}})
	g := mustOpen(t, o)
	for _, tt := range []struct {
		name, codes string
		urls        []string
	}{
		{"two short links", "R_SRC_LAUNDER", urls[:2]},
		{"a short link and where it leads", "R_SRC_LAUNDER", urls[1:3]},
		{"a short link and another house", "", []string{urls[0], urls[3]}},
	} {
		v := judge(t, g, withURLs(tt.name, tt.urls...))[0]
		if v.Err != nil || codes(v) != tt.codes || (v.End == dag.Accepted) != (tt.codes == "") {
			t.Errorf("%s: %s %q %v %+v", tt.name, v.End, codes(v), v.Err, v.Details)
		}
	}
}

// A net that is gone kills no source: the canary tells, and is asked for each
// time, whatever it said before.
func TestCanary(t *testing.T) {
	canary, asked := countedSite(t)
	gone := httptest.NewServer(nil)
	gone.Close() // nobody listens there
	client := fetch.New(fetch.Options{AllowHosts: []string{hostOf(canary), hostOf(gone)}, Sleep: without})
	defer client.Close()
	dir := t.TempDir()
	check := livePages()
	check.Args["canary"] = val(canary.URL + "/ok")
	o, _ := withPages(t, dir, client, check)
	g := mustOpen(t, o)
	for i := range int32(2) {
		v := judge(t, g, withURLs(fmt.Sprint("dead", i), gone.URL+"/ok"))[0]
		if v.Err != nil || codes(v) != "R_SRC_DEAD" || asked.Load() != i+1 {
			t.Errorf("while the canary is live: %s %v %+v, asked %d times", v.End, v.Err, v.Details, asked.Load())
		}
	}
	canary.Close()
	before := tree(t, dir)
	v := judge(t, g, withURLs("parked", gone.URL+"/ok"))[0]
	want := "read the web: no address is answered, and the canary is not live either: " + canary.URL + "/ok is dead: "
	if v.Err == nil || !strings.HasPrefix(v.Err.Error(), want) || dag.KindOf(v.Err) != dag.KindInfrastructure {
		t.Errorf("while it is not: %s %v", v.End, v.Err)
	}
	if len(tree(t, dir)) != len(before) || len(lines(t, dir, "meta/rejections.jsonl")) != 2 {
		t.Error("what was parked was counted")
	}
}
