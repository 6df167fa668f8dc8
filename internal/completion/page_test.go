package completion

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// web is a reader of pages that were made up.
type web struct {
	mu    sync.Mutex
	pages map[string]dag.Page
	asked []string
}

func (w *web) Source() dag.Digest { return dag.Digest{} }

func (w *web) Read(ctx context.Context, address string, _ time.Duration) (*dag.Page, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, address)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p, ok := w.pages[address]
	if !ok {
		p = dag.Page{Verdict: dag.PageDead, Why: "no such host", NoAnswer: true, Attempts: 1}
	}
	p.URL = address
	if p.At.IsZero() {
		p.At = time.Date(2026, 1, 15, 10, 15, 0, 5e6, time.UTC)
	}
	return &p, nil
}

// noWeb is asked for nothing.
type noWeb struct{ t *testing.T }

func (noWeb) Source() dag.Digest { return dag.Digest{} }

func (n noWeb) Read(_ context.Context, address string, _ time.Duration) (*dag.Page, error) {
	n.t.Errorf("%s was read from the web", address)
	return nil, errors.New("no web")
}

func livePage(text string) dag.Page {
	return dag.Page{FinalURL: "https://a.org/x", Status: 200, Verdict: dag.PageLive, Digest: dag.Sum([]byte(text)).String(), Attempts: 1, Text: text}
}

func read(t *testing.T, r PageReader, address string) *dag.Page {
	t.Helper()
	p, err := r.Read(context.Background(), address, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is recorded of pages, dead ones too, is what is replayed of them.
func TestRecordedPagesReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	s, _ := newService(t, Options{Record: path})
	moved := livePage("Old text.")
	moved.FinalURL, moved.Hops, moved.Exempt = "https://b.org/y", []string{"https://a.org/z"}, []string{"b.org"}
	w := &web{pages: map[string]dag.Page{"https://a.org/z": moved, "https://a.org/x": livePage("A text.\nOf two lines.")}}
	pages := s.Pages(w)
	want := map[string]*dag.Page{}
	for _, address := range []string{"https://a.org/z", "https://a.org/x", "https://gone.org/"} {
		want[address] = read(t, pages, address)
	}
	s.Complete(context.Background(), writer, answers("yes"), userSays("a"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	wantLines := []string{
		`{"page":{"url":"https://a.org/x","final_url":"https://a.org/x","status":200,"verdict":"live","at":"2026-01-15T10:15:00.005Z","digest":"` + w.pages["https://a.org/x"].Digest + `","attempts":1},"text":"A text.\nOf two lines."}`,
		`{"page":{"url":"https://a.org/z","final_url":"https://b.org/y","status":200,"verdict":"live","at":"2026-01-15T10:15:00.005Z","digest":"` + moved.Digest + `","attempts":1,"hops":["https://a.org/z"],"exempt":["b.org"]},"text":"Old text."}`,
		`{"page":{"url":"https://gone.org/","verdict":"dead","why":"no such host","at":"2026-01-15T10:15:00.005Z","attempts":1,"no_answer":true}}`,
	}
	if diff := cmp.Diff(wantLines, lines[1:]); diff != "" || !strings.HasPrefix(lines[0], `{"key":`) {
		t.Errorf("recorded (-want +got):\n%s\n%s", diff, lines[0])
	}

	again, _ := newService(t, Options{Replay: path})
	replayed := again.Pages(noWeb{t})
	for address, page := range want {
		got := read(t, replayed, address)
		page.Recorded = true
		if diff := cmp.Diff(page, got); diff != "" {
			t.Errorf("%s replayed (-live +replayed):\n%s", address, diff)
		}
	}
	if replayed.Source().IsZero() || !pages.Source().IsZero() {
		t.Errorf("the source of recorded pages is %s, of the web %s", replayed.Source(), pages.Source())
	}
	if got, want := [2]Counters{s.Counters(), again.Counters()}, [2]Counters{{Live: 1, Calls: 1, Unpriced: 1, Usage: s.Counters().Usage, PagesRead: 3}, {PagesReplayed: 3}}; got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// A page that is handed out belongs to the caller.
func TestReplayedPagesAreCopies(t *testing.T) {
	path := write(t, "c.jsonl", `{"page":{"url":"https://a.org/x","verdict":"live","at":"2026-01-15T10:15:00Z","hops":["https://a.org/x"]}}`)
	s, _ := newService(t, Options{Replay: path})
	pages := s.Pages(nil)
	read(t, pages, "https://a.org/x").Hops[0] = "changed"
	if got := read(t, pages, "https://a.org/x").Hops[0]; got != "https://a.org/x" {
		t.Errorf("the second reader sees %q", got)
	}
}

// Recording the same page anew changes nothing; another one replaces the line.
func TestRecordPagesAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	record := func(p dag.Page) string {
		t.Helper()
		s, _ := newService(t, Options{Record: path})
		read(t, s.Pages(&web{pages: map[string]dag.Page{"https://a.org/x": p}}), "https://a.org/x")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := record(livePage("One."))
	later := livePage("One.")
	later.At, later.Attempts = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 2
	if got := record(later); got != first {
		t.Errorf("the same page at another time changed the file:\n%s", cmp.Diff(first, got))
	}
	gone := dag.Page{FinalURL: "https://a.org/x", Status: 404, Verdict: dag.PageDead, Why: "status 404", Attempts: 1}
	if got := record(gone); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"why":"status 404"`) {
		t.Errorf("the page that is gone is recorded as:\n%s", got)
	}
}

// A broken-off recording leaves its pages, each at once, and of two the later holds.
func TestPagesAreWrittenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	s, _ := newService(t, Options{Record: path})
	for _, text := range []string{"One.", "Two."} {
		read(t, s.Pages(&web{pages: map[string]dag.Page{"https://a.org/x": livePage(text)}}), "https://a.org/x")
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Count(string(b), "\n") != 2 {
		t.Fatalf("before the end the file is %q (%v)", b, err)
	}
	c, err := ReadCassette(path)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := c.LookupPage("https://a.org/x"); !ok || p.Text != "Two." {
		t.Errorf("the page is %+v", p)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPageMiss(t *testing.T) {
	path := write(t, "c.jsonl", `{"page":{"url":"https://a.org/one","verdict":"live","at":"2026-01-15T10:15:00Z"}}
{"page":{"url":"https://b.org/one","verdict":"live","at":"2026-01-15T10:15:00Z"}}`)
	empty := write(t, "empty.jsonl", `{"request":{"messages":[{"role":"user","text":"old"}]},"reply":{"text":"x","finish_reason":"stop"}}`)
	for _, tt := range []struct{ cassette, address, want string }{
		{path, "https://a.org/two", "read page https://a.org/two: no page is recorded under this address (" + path + " holds 2)\nnearest: line 1, https://a.org/one"},
		{path, "https://b.org/one/", "read page https://b.org/one/: no page is recorded under this address (" + path + " holds 2)\nnearest: line 2, https://b.org/one"},
		{path, "https://me:secret@b.org/one", "read page https://b.org/one: no page is recorded under this address (" + path + " holds 2)\nnearest: line 2, https://b.org/one"},
		{empty, "https://a.org/two", "read page https://a.org/two: no page is recorded under this address (" + empty + " holds 0)"},
	} {
		s, _ := newService(t, Options{Replay: tt.cassette})
		page, err := s.Pages(noWeb{t}).Read(context.Background(), tt.address, time.Second)
		var e *dag.Error
		if page != nil || !errors.As(err, &e) || e.Kind != dag.KindInfrastructure || e.Code != dag.EReplayMiss || err.Error() != tt.want+"\nrecord it with: penstock run --live --record "+tt.cassette {
			t.Errorf("%s: %v, %v\nwant %s", tt.address, page, err, tt.want)
		}
		if s.Counters().Misses != 1 {
			t.Errorf("%s: counted %+v", tt.address, s.Counters())
		}
	}
}

func TestHandWrittenPages(t *testing.T) {
	c, err := ReadCassette(write(t, "c.jsonl", `{"note": "by hand", "text": "What a reader sees.", "page": {"url": "https://a.org/x", "verdict": "live", "at": "2026-01-15T11:15:00+01:00"}}
{"page": {"url": "https://a.org/y", "verdict": "blocked", "why": "status 403", "status": 403, "at": "2026-01-15T10:15:00Z"}}`))
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)
	want := []dag.Page{
		{URL: "https://a.org/x", FinalURL: "https://a.org/x", Status: 200, Verdict: dag.PageLive, At: at},
		{URL: "https://a.org/y", Status: 403, Verdict: dag.PageBlocked, Why: "status 403", At: at},
	}
	var got []dag.Page
	for _, p := range c.Pages() {
		got = append(got, p.Page)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	if p, _ := c.LookupPage("https://a.org/x"); p.Text != "What a reader sees." || p.Note != "by hand" {
		t.Errorf("the first is %+v", p)
	}
}

func TestPagesThatCannotBeRead(t *testing.T) {
	const url, at = `"url":"https://a.org/x"`, `"at":"2026-01-15T10:15:00Z"`
	for _, tt := range []struct{ line, want string }{
		{`{"page":{` + url + `,"verdict":"live",` + at + `},"body":"x"}`, `/body is not a member of a recorded page`},
		{`{"page":{` + url + `,"verdict":"live",` + at + `,"title":"x"}}`, `/page/title is not a member of a recorded page`},
		{`{"page":{"verdict":"live",` + at + `}}`, `page.url is missing: write the address as it is asked for`},
		{`{"page":{"url":"https://me:key@a.org/","verdict":"live",` + at + `}}`, `page.url has a name or a password before its host: write the address without it`},
		{`{"page":{` + url + `,` + at + `}}`, `page.verdict is missing: write "live", "dead" or "blocked"`},
		{`{"page":{` + url + `,"verdict":"alive",` + at + `}}`, `page.verdict is "alive": write "live", "dead" or "blocked"`},
		{`{"page":{` + url + `,"verdict":"live","why":"status 404",` + at + `}}`, `page.why says why a page is not live, but page.verdict is "live": write one of them`},
		{`{"page":{` + url + `,"verdict":"dead",` + at + `}}`, `page.why is missing: write why the page is dead, such as "status 404"`},
		{`{"page":{` + url + `,"verdict":"live"}}`, `page.at is missing: write when the page was read, such as "2026-01-15T10:15:00Z"`},
		{`{"page":{` + url + `,"verdict":"live","at":"yesterday"}}`, `/page/at: `},
		{`{"page":"https://a.org/x"}`, `/page cannot be a JSON string`},
		{`{"page":{` + url + `,"verdict":"live",` + at + `,"status":"200"}}`, `/page/status cannot be a JSON string`},
		{`{"page":{` + url + `,` + url + `,"verdict":"live",` + at + `}}`, `duplicate object member name`},
		{`{"page":{`, `not JSON at column 10, in /page: unexpected EOF`},
		{`{"url":"https://a.org/x","verdict":"live"}`, `/url is not a member of a recorded completion`},
	} {
		path := write(t, "c.jsonl", "\n"+tt.line+"\n")
		_, err := ReadCassette(path)
		if err == nil || dag.KindOf(err) != dag.KindConfig || !strings.HasPrefix(err.Error(), "read cassette "+path+":2: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s\n got %v\nwant %s", tt.line, err, tt.want)
		}
	}
}

// The digest of the pages depends on all that is recorded of them, not on their
// order nor on notes; that of the completions not on pages.
func TestDigests(t *testing.T) {
	const (
		one      = `{"page":{"url":"https://a.org/1","verdict":"live","at":"2026-01-15T10:15:00Z"},"text":"One."}`
		noted    = `{"note":"by hand","page":{"url":"https://a.org/1","verdict":"live","at":"2026-01-15T10:15:00Z"},"text":"One."}`
		other    = `{"page":{"url":"https://a.org/1","verdict":"live","at":"2026-01-15T10:15:00Z"},"text":"Other."}`
		dead     = `{"page":{"url":"https://a.org/1","verdict":"dead","why":"status 404","at":"2026-01-15T10:15:00Z"},"text":"One."}`
		two      = `{"page":{"url":"https://a.org/2","verdict":"live","at":"2026-01-15T10:15:00Z"},"text":"Two."}`
		said     = `{"request":{"messages":[{"role":"user","text":"old"}]},"reply":{"text":"x","finish_reason":"stop"}}`
		saidElse = `{"request":{"messages":[{"role":"user","text":"old"}]},"reply":{"text":"y","finish_reason":"stop"}}`
	)
	digests := func(lines ...string) (pages, completions dag.Digest) {
		t.Helper()
		path := write(t, "c.jsonl", strings.Join(lines, "\n")+"\n")
		s, _ := newService(t, Options{Replay: path})
		completions, err := Digest(path)
		if err != nil {
			t.Fatal(err)
		}
		return s.Pages(nil).Source(), completions
	}
	pages, completions := digests(one, two, said)
	for _, tt := range []struct {
		name                       string
		lines                      []string
		samePages, sameCompletions bool
	}{
		{"another order", []string{said, two, one}, true, true},
		{"a note", []string{noted, said, two}, true, true},
		{"one twice", []string{dead, one, said, two}, true, true},
		{"another text", []string{other, said, two}, false, true},
		{"a dead page", []string{dead, said, two}, false, true},
		{"a page less", []string{one, said}, false, true},
		{"no page", []string{said}, false, true},
		{"another answer", []string{one, two, saidElse}, true, false},
	} {
		p, c := digests(tt.lines...)
		if (p == pages) != tt.samePages || (c == completions) != tt.sameCompletions {
			t.Errorf("%s: pages the same %v, completions the same %v", tt.name, p == pages, c == completions)
		}
		if p.IsZero() {
			t.Errorf("%s: the digest of the pages is that of the web", tt.name)
		}
	}
	if _, c := digests(said); c != dag.Sum([]byte(said+"\n")) {
		t.Error("a cassette without pages is known by another digest than that of its bytes")
	}
}

func TestPagesWithSecretsAreNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	var log []string
	s, _ := newService(t, Options{Record: path, Withhold: []*dag.Provider{{Name: "p", Secrets: map[string]string{"api_key": "sk-canary", "unset": ""}}}, Log: func(level, message string) { log = append(log, level+": "+message) }})
	moved := livePage("x")
	moved.FinalURL = "https://me:hunter2@b.org/"
	hop := livePage("x")
	hop.Hops = []string{"https://me:hunter2@b.org/"}
	pages := s.Pages(&web{pages: map[string]dag.Page{
		"https://a.org/text": livePage("your key is sk-canary"), "https://a.org/moved": moved, "https://a.org/hop": hop, "https://a.org/?key=sk-canary": livePage("x"),
	}})
	for _, address := range []string{"https://a.org/text", "https://a.org/moved", "https://a.org/hop", "https://a.org/?key=sk-canary", "https://me:hunter2@a.org/", "https://me:hunter2@a.org/%zz"} {
		read(t, pages, address)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 0 {
		t.Errorf("the cassette holds %s (%v)", b, err)
	}
	if len(log) != 6 || log[0] != "warn: the page https://a.org/text was not recorded: it holds a secret of provider p" ||
		log[4] != "warn: the page https://a.org/ was not recorded: its address holds a name or a password" {
		t.Errorf("log is %q", log)
	}
	for _, l := range log {
		if strings.Contains(l, "hunter2") || strings.Contains(l, "canary") {
			t.Errorf("logged: %s", l)
		}
	}
}

// What the reader could not tell is passed on, and nothing is recorded of it.
func TestPagesThatNobodyCouldRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	s, _ := newService(t, Options{Record: path})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p, err := s.Pages(&web{}).Read(ctx, "https://a.org/x", time.Second); p != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", p, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != 0 || s.Counters().PagesRead != 0 {
		t.Errorf("the cassette holds %s (%v), counted %+v", b, err, s.Counters())
	}
}

// What is read of a page is written, and read back as the same.
func FuzzPageLine(f *testing.F) {
	for _, line := range []string{
		`{"page":{"url":"https://a.org/x","verdict":"live","at":"2026-01-15T10:15:00Z"},"text":"One."}`,
		`{"note":"n","page":{"url":"https://a.org/y","final_url":"https://b.org/","status":403,"verdict":"blocked","why":"status 403","at":"2026-01-15T11:15:00.5+01:00","hops":["https://a.org/y"],"exempt":["b.org"]}}`,
		`{"page":{"url":"%zz@","verdict":"dead","why":"x","at":"0001-01-01T00:00:00Z","no_answer":true,"recorded":true}}`,
		`{"page":null}`, `{"page":{`, `[]`, "",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if !isPage(line) {
			return
		}
		p, err := parsePage(line)
		if err != nil {
			return
		}
		written, err := p.Line()
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", p, err)
		}
		again, err := parsePage(written)
		if err != nil {
			t.Fatalf("%s cannot be read back: %v", written, err)
		}
		if diff := cmp.Diff(p, again, cmp.AllowUnexported(RecordedPage{})); diff != "" {
			t.Errorf("read back (-first +second):\n%s", diff)
		}
		if !isPage(written) || p.Page.URL == "" || p.Page.Verdict == "" || p.Page.At.IsZero() {
			t.Errorf("%s is no whole page", written)
		}
	})
}
