package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// loopback reads every host from one server on this machine, by HTTP, and judges
// what it gets no further than these tests need.
type loopback struct {
	client *http.Client
	source dag.Digest
	mu     sync.Mutex
	asked  []string // addresses that the server was asked for, redirects too
}

func newLoopback(t testing.TB, handler http.Handler) *loopback {
	t.Helper()
	l := &loopback{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		l.asked = append(l.asked, r.Host+r.URL.Path)
		l.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	l.client = &http.Client{Transport: transport}
	return l
}

func (l *loopback) Source() dag.Digest { return l.source }

func (l *loopback) Read(ctx context.Context, address string, timeout time.Duration) (*dag.Page, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	page := &dag.Page{URL: address, At: time.Date(2026, 1, 15, 10, 17, 40, 0, time.UTC), Verdict: dag.PageDead}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		page.Why = "not a URL"
		return page, nil
	}
	response, err := l.client.Do(request)
	if err != nil {
		page.NoAnswer, page.Why = true, "no answer"
		return page, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		page.NoAnswer, page.Why = true, "no answer"
		return page, nil
	}
	page.Status, page.FinalURL, page.Text = response.StatusCode, response.Request.URL.String(), string(body)
	page.Digest = dag.Sum(body).String()
	switch {
	case page.Status == http.StatusForbidden:
		page.Verdict = dag.PageBlocked
	case page.Status == http.StatusOK && len(body) > 0:
		page.Verdict = dag.PageLive
	}
	if page.Verdict != dag.PageLive {
		page.Why = fmt.Sprintf("status %d", page.Status)
	}
	return page, nil
}

// requests are what the server was asked for so far.
func (l *loopback) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.asked...)
}

// site answers by path: /ok, /404, /403, …, /to/HOST for a redirect.
func site() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, ok := strings.CutPrefix(r.URL.Path, "/to/"); ok {
			http.Redirect(w, r, "http://"+host+"/ok", http.StatusFound)
			return
		}
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err == nil {
			w.WriteHeader(status)
		}
		fmt.Fprintf(w, "In 1453 Mehmed II took Constantinople, which he made his capital; %s says so.", r.Host)
	})
}

// livePages is a check that the URLs are live, over what the item says.
func livePages() *dag.Check {
	return &dag.Check{Kind: "live", Code: "R_SRC_DEAD", Args: map[string]dag.Expr{"urls": get("card.urls")}}
}

func withPages(t testing.TB, dir string, pages Pages, checks ...*dag.Check) (Options, *dag.Gate) {
	spec := plain(checks...)
	o := options(t, dir, spec)
	o.Pages = pages
	return o, spec
}

func withURLs(key string, urls ...string) *Candidate {
	row, err := rowOf(map[string]any{"q": key + "?", "urls": urls})
	if err != nil {
		panic(err)
	}
	return cardCandidate(key, "art", string(row))
}

// No page is read for a candidate that is refused, only recorded or known already.
func TestNoRequestWithoutNeed(t *testing.T) {
	no := &dag.Check{Kind: "assert", Code: "R_NO", Args: map[string]dag.Expr{"condition": val(false)}}
	for _, tt := range []struct {
		name   string
		first  *dag.Check
		change func(*Candidate, *Gate)
		end    dag.End
		asks   int
	}{
		{"nothing is wrong", nil, func(*Candidate, *Gate) {}, dag.Accepted, 1},
		{"a static check failed", no, func(*Candidate, *Gate) {}, dag.Rejected, 0},
		{"a static check failed and asks for a review", &dag.Check{Kind: "assert", Code: "R_NO", Triage: dag.Review, Args: no.Args}, func(*Candidate, *Gate) {}, dag.Reviewed, 0},
		{"a static check could not tell", no, func(_ *Candidate, g *Gate) {
			g.checks[0].run = broken{func() (result, error) { return result{evidence: "no idea"}, nil }}
		}, dag.Reviewed, 0},
		{"a failed check is only shadowed", &dag.Check{Kind: "assert", Code: "R_NO", Mode: &dag.Mode{Name: "m"}, Args: no.Args}, func(*Candidate, *Gate) {}, dag.Reviewed, 1},
		{"a check does not apply", &dag.Check{Kind: "assert", Code: "R_NO", If: val(false), Args: no.Args}, func(*Candidate, *Gate) {}, dag.Accepted, 1},
		{"a stage asked for a review", nil, func(c *Candidate, _ *Gate) {
			c.Findings = []dag.Finding{{Code: "THIN", Triage: dag.Review}}
		}, dag.Reviewed, 1},
		{"a stage refused it", nil, func(c *Candidate, _ *Gate) {
			c.Findings = []dag.Finding{{Code: "R_STAGE", Triage: dag.Reject}}
		}, dag.Rejected, 0},
		{"it is only recorded", nil, func(c *Candidate, _ *Gate) { c.As = dag.Skip }, dag.Skipped, 0},
		{"a route stopped it", nil, func(c *Candidate, _ *Gate) { c.Stop = &Stop{End: dag.Rejected, Code: "R_STOP"} }, dag.Rejected, 0},
		{"its bucket is no path", nil, func(c *Candidate, _ *Gate) { c.Bucket = "../x" }, dag.Failed, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := newLoopback(t, site())
			checks := []*dag.Check{livePages(), uniqueQuestion()}
			if tt.first != nil {
				checks = append([]*dag.Check{tt.first}, checks...)
			}
			o, _ := withPages(t, t.TempDir(), web, checks...)
			g := mustOpen(t, o)
			c := withURLs("one", "http://www.nps.gov/ok")
			tt.change(c, g)
			v := judge(t, g, c)[0]
			if v.Err != nil || v.End != tt.end {
				t.Fatalf("%s %q %v, want %s", v.End, v.Message, v.Err, tt.end)
			}
			if got := len(web.requests()); got != tt.asks {
				t.Fatalf("%d requests, want %d", got, tt.asks)
			}
			// A second time the verdict is on record, and nothing is asked.
			if v := judge(t, g, c)[0]; !v.Known || v.End != tt.end {
				t.Errorf("a second time: known %v, %s", v.Known, v.End)
			}
			if got := len(web.requests()); got != tt.asks {
				t.Errorf("%d requests after the second time, want %d", got, tt.asks)
			}
		})
	}
}

// A rejection for a dead page is known too, until it is asked for anew.
func TestDeadPageIsRecorded(t *testing.T) {
	web := newLoopback(t, site())
	o, _ := withPages(t, t.TempDir(), web, livePages(), uniqueQuestion())
	g := mustOpen(t, o)
	for i, tt := range []struct {
		anew, known bool
		asks        int
	}{{false, false, 1}, {false, true, 1}, {true, false, 2}} {
		c := withURLs("one", "http://www.nps.gov/404")
		c.Anew = tt.anew
		v := judge(t, g, c)[0]
		if v.End != dag.Rejected || v.Known != tt.known || len(web.requests()) != tt.asks {
			t.Errorf("%d: %s, known %v, %d requests", i, v.End, v.Known, len(web.requests()))
		}
	}
}

// A verdict over recorded pages is none over the web, nor over other recordings.
func TestPagesBelongToTheAcceptKey(t *testing.T) {
	keyOver := func(source string, checks ...*dag.Check) string {
		web := newLoopback(t, site())
		if source != "" {
			web.source = dag.Sum([]byte(source))
		}
		o, _ := withPages(t, t.TempDir(), web, checks...)
		return mustOpen(t, o).Evaluate(context.Background(), withURLs("one", "http://www.nps.gov/ok")).AcceptKey()
	}
	web, first, second := keyOver("", livePages()), keyOver("first", livePages()), keyOver("second", livePages())
	if web == first || first == second || web == second {
		t.Errorf("one key for two sources of pages: %s %s %s", web, first, second)
	}
	if first != keyOver("first", livePages()) {
		t.Error("the same recording has two keys")
	}
	if keyOver("", uniqueQuestion()) != keyOver("first", uniqueQuestion()) {
		t.Error("a gate that reads no page depends on where pages come from")
	}
	spec := plain(livePages())
	without := DigestOf(spec)
	spec.AllowHosts = []string{"intranet"}
	if DigestOf(spec) == without {
		t.Error("an exempt host does not belong to the gate's digest")
	}
	spec = plain(uniqueQuestion())
	without = DigestOf(spec)
	spec.AllowHosts = []string{"intranet"}
	if DigestOf(spec) != without {
		t.Error("an exempt host belongs to the digest of a gate that reads no page")
	}
}

// pagesFunc is a reader in Go.
type pagesFunc func(ctx context.Context, address string) (*dag.Page, error)

func (f pagesFunc) Source() dag.Digest { return dag.Digest{} }
func (f pagesFunc) Read(ctx context.Context, address string, _ time.Duration) (*dag.Page, error) {
	return f(ctx, address)
}

// What is wrong with the reader is never a verdict: nothing is counted.
func TestBrokenReaders(t *testing.T) {
	for _, tt := range []struct {
		name string
		read pagesFunc
		kind dag.Kind
		want string
	}{
		{"an error", func(context.Context, string) (*dag.Page, error) {
			return nil, fmt.Errorf("the cassette has no such page")
		}, dag.KindInfrastructure, "judge the candidate one: the cassette has no such page"},
		{"an error beside a page", func(_ context.Context, address string) (*dag.Page, error) {
			return &dag.Page{URL: address, Verdict: dag.PageLive}, fmt.Errorf("half of it")
		}, dag.KindInfrastructure, "judge the candidate one: half of it"},
		{"an error that calls itself the candidate's", func(context.Context, string) (*dag.Page, error) {
			return nil, dag.Fail(dag.EExpr, "no such name")
		}, dag.KindInfrastructure, "judge the candidate one: E_EXPR: no such name"},
		{"nothing", func(context.Context, string) (*dag.Page, error) { return nil, nil }, dag.KindBug,
			"read the page http://www.nps.gov/ok: the reader gave neither a page nor an error"},
		{"a panic", func(context.Context, string) (*dag.Page, error) { panic("boom") }, dag.KindBug,
			"read the page http://www.nps.gov/ok: the reader panicked: boom"},
	} {
		for _, kind := range []dag.CheckKind{"live", "quoted"} {
			t.Run(tt.name+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				check := livePages()
				if kind == "quoted" {
					check = &dag.Check{Kind: "quoted", Code: "R_QUOTE", Args: map[string]dag.Expr{"sources": val([]source{{URL: "http://www.nps.gov/ok", Quote: "Mehmed II"}})}}
				}
				o, _ := withPages(t, dir, tt.read, check, uniqueQuestion())
				v := judge(t, mustOpen(t, o), withURLs("one", "http://www.nps.gov/ok"))[0]
				if v.Err == nil || v.Err.Error() != tt.want || dag.KindOf(v.Err) != tt.kind {
					t.Errorf("%s, kind %d: %v", v.End, dag.KindOf(v.Err), v.Err)
				}
				if n := len(lines(t, dir, "meta/rejections.jsonl")) + len(lines(t, dir, "data/art.jsonl")) + len(lines(t, dir, breakersPath)); n != 0 {
					t.Errorf("%d rows were written", n)
				}
			})
		}
	}
}

// A context that ends while pages are read is an error, even where the reader
// takes it for a dead page, or for a live canary.
func TestContextEndsWhileReading(t *testing.T) {
	for _, last := range []string{"http://www.nps.gov/ok", "http://canary.org/"} {
		ctx, cancel := context.WithCancel(context.Background())
		check := livePages()
		check.Args["canary"] = val("http://canary.org/")
		o, _ := withPages(t, t.TempDir(), pagesFunc(func(_ context.Context, address string) (*dag.Page, error) {
			if address == last {
				cancel()
			}
			if address == "http://canary.org/" {
				return &dag.Page{URL: address, Verdict: dag.PageLive, Status: 200, FinalURL: address}, nil
			}
			return &dag.Page{URL: address, Verdict: dag.PageDead, NoAnswer: true, Why: "context canceled"}, nil
		}), check)
		g := mustOpen(t, o)
		e := g.Evaluate(ctx, withURLs("one", "http://www.nps.gov/ok"))
		if dag.KindOf(e.Err()) != dag.KindInfrastructure || len(e.Checks()) != 0 {
			t.Errorf("at %s: %v %+v", last, e.Err(), e.Checks())
		}
		cancel()
	}
}

// A reader that takes no notice of its context holds nobody up for ever.
func TestReaderThatNeverAnswers(t *testing.T) {
	never, asked := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(never) })
	o, _ := withPages(t, t.TempDir(), pagesFunc(func(context.Context, string) (*dag.Page, error) {
		close(asked)
		<-never
		return &dag.Page{Verdict: dag.PageLive}, nil
	}), livePages())
	g := mustOpen(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	e := g.Evaluate(ctx, withURLs("one", "http://www.nps.gov/ok"))
	if !errors.Is(e.Err(), context.Canceled) || dag.KindOf(e.Err()) != dag.KindInfrastructure {
		t.Errorf("got %v", e.Err())
	}
}

// At most eight pages of a candidate are read at a time, and each address once.
func TestReadsAtOnce(t *testing.T) {
	var mu sync.Mutex
	now, most, all := 0, 0, 0
	full := make(chan struct{})
	o, _ := withPages(t, t.TempDir(), pagesFunc(func(ctx context.Context, address string) (*dag.Page, error) {
		mu.Lock()
		all++
		now++
		most = max(most, now)
		if all == readsAtOnce {
			close(full)
		}
		mu.Unlock()
		<-full // until as many as may be are here
		mu.Lock()
		defer mu.Unlock()
		now--
		return &dag.Page{URL: address, Verdict: dag.PageLive, FinalURL: address, Status: 200}, nil
	}), livePages())
	var urls []string
	for i := range 5 * readsAtOnce {
		urls = append(urls, fmt.Sprintf("http://www.nps.gov/%d", i))
	}
	e := mustOpen(t, o).Evaluate(context.Background(), withURLs("one", append(urls, urls...)...))
	if e.Err() != nil || most != readsAtOnce || all != len(urls) || *e.Checks()[0].Figure != float64(2*len(urls)) {
		t.Errorf("%v: %d at once, %d in all, %+v", e.Err(), most, all, e.Checks())
	}
}

// In the network phase, too, all is collected that can be told together, a check
// with ends is the last, and a shadowed one neither ends nor decides.
func TestNetworkPhase(t *testing.T) {
	named := func(name string, urls string, change func(*dag.Check)) *dag.Check {
		c := &dag.Check{Kind: "live", Name: name, Code: dag.Code("R_" + name), Args: map[string]dag.Expr{"urls": val([]string{"http://www.nps.gov" + urls})}}
		change(c)
		return c
	}
	as := func(*dag.Check) {}
	ends := func(c *dag.Check) { c.Ends = true }
	shadow := func(c *dag.Check) { c.Ends, c.Mode = true, &dag.Mode{Name: "m"} }
	for _, tt := range []struct {
		name   string
		checks []*dag.Check
		end    dag.End
		codes  string
		ran    string
	}{
		{"all hold", []*dag.Check{named("A", "/ok", as), named("B", "/ok", as)}, dag.Accepted, "", "A held, B held, unique held"},
		{"collected", []*dag.Check{named("A", "/404", as), named("B", "/500", as)}, dag.Rejected, "R_A R_B", "A failed, B failed"},
		{"ended", []*dag.Check{named("A", "/404", ends), named("B", "/500", as)}, dag.Rejected, "R_A", "A failed"},
		{"ends and holds", []*dag.Check{named("A", "/ok", ends), named("B", "/500", as)}, dag.Rejected, "R_B", "A held, B failed"},
		{"shadowed", []*dag.Check{named("A", "/404", shadow), named("B", "/ok", as)}, dag.Reviewed, "R_A", "A failed, B held, unique held"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, _ := withPages(t, t.TempDir(), newLoopback(t, site()), append(tt.checks, uniqueQuestion())...)
			v := judge(t, mustOpen(t, o), withURLs("one"))[0]
			var ran []string
			for _, c := range v.Checks {
				ran = append(ran, c.Name+" "+c.State)
			}
			if v.Err != nil || v.End != tt.end || codes(v) != tt.codes {
				t.Errorf("%s %q %v", v.End, codes(v), v.Err)
			}
			if diff := cmp.Diff(tt.ran, strings.Join(ran, ", ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// With undecided = "parked", what could not be told parks an item that might still
// enter the corpus, and none that is refused for another reason.
func TestUndecidedPages(t *testing.T) {
	for _, tt := range []struct {
		name string
		urls []string
		end  dag.End // empty: parked
	}{
		{"blocked", []string{"http://blocked.org/", "http://live.org/"}, ""},
		{"blocked, and another is dead", []string{"http://blocked.org/", "http://dead.org/"}, dag.Rejected},
	} {
		blocked := livePages()
		blocked.Args["blocked"] = val("undecided")
		quote := &dag.Check{Kind: "quoted", Code: "R_QUOTE", Args: map[string]dag.Expr{"sources": val([]source{{URL: "http://blocked.org/", Quote: "Mehmed II"}})}}
		o, spec := withPages(t, t.TempDir(), pageTable(someWeb), blocked, quote)
		spec.Undecided = "parked"
		v := judge(t, mustOpen(t, o), withURLs("one", tt.urls...))[0]
		if (v.Err != nil) != (tt.end == "") || v.End != tt.end {
			t.Errorf("%s: %s %v", tt.name, v.End, v.Err)
		}
	}
}
