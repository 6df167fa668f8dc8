package engine

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// readingGate accepts an item whose page is live.
const readingGate = `
gate "accept" {
  candidate   = { card = item }
  allow_hosts = ["127.0.0.1"]
  check "live" {
    code = failure.GONE
    urls = [card.url]
  }
  corpus "jsonl" {
    data     = "data/cards.jsonl"
    evidence = "meta/evidence.jsonl"
    id       = card.id
    record   = card
    evidence_record = {
      pages = checks.live.pages
    }
  }
  rejections = "meta/rejections.jsonl"
}
failure "GONE" { meaning = "Its page is not live." }
`

// server is a web of one host, which knows who came.
type server struct {
	*httptest.Server
	mu        sync.Mutex
	connected int
	asked     map[string]int
}

func newServer(t *testing.T) *server {
	s := &server{asked: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.URL.Path]++
		s.mu.Unlock()
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/blocked":
			w.WriteHeader(http.StatusForbidden)
		case "/moved":
			http.Redirect(w, r, "/there", http.StatusFound)
		default:
			fmt.Fprintf(w, "<title>%s</title><p>A page of its own.", r.URL.Path)
		}
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			s.connected++
			s.mu.Unlock()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// came tells how many connections and requests there were since the last call.
func (s *server) came() (connections, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.asked {
		requests += n
	}
	connections, s.connected, s.asked = s.connected, 0, map[string]int{}
	return connections, requests
}

// readingWorkspace has an item for each path of the server, called like it.
func readingWorkspace(t *testing.T, s *server, paths ...string) *workspace {
	t.Helper()
	w := newWorkspace(t, strings.Replace(one, plainGate, readingGate, 1), items(s, paths...), keep)
	return w
}

func items(s *server, paths ...string) []string {
	var lines []string
	for _, path := range paths {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"url":"%s/%s"}`, path, s.URL, path))
	}
	return lines
}

// times are what differs between a run and its replay.
var times = regexp.MustCompile(`"[a-z_]*at":"[^"]*"|"run(_id)?":"[^"]*"|"(accept_key|previous)":"[^"]*"|"recorded":true,?|,"recorded":true`)

// A recorded run replays: the same ends, the same corpus but for times, and nobody
// is asked. Plan and run agree at each step.
func TestPagesRecordedAndReplayed(t *testing.T) {
	s := newServer(t)
	paths := []string{"fine", "gone", "blocked", "moved"}
	w := readingWorkspace(t, s, paths...)
	empty := func(want bool, change ...func(*Options)) {
		t.Helper()
		plan, err := Plan(t.Context(), w.options(change))
		if err != nil {
			t.Fatal(err)
		}
		if plan.Empty() != want {
			t.Errorf("the plan is %+v; want an empty one %v", plan, want)
		}
	}
	record := func(o *Options) { o.Record = w.dir + "/cassette.jsonl" }
	empty(false)
	if connections, _ := s.came(); connections != 0 {
		t.Errorf("a plan made %d connections", connections)
	}
	live := w.run(record)
	ends := map[dag.End]int{dag.Accepted: 2, dag.Rejected: 2}
	if diff := cmp.Diff(ends, live.Tally.Ends); diff != "" || live.Kind != 0 || live.Tally.Pages != 4 || live.Tally.PagesReplayed != 0 {
		t.Errorf("live: %+v\n%s", live, diff)
	}
	if _, requests := s.came(); requests != 5 { // one for each, and where the moved one leads
		t.Errorf("%d requests, want 5", requests)
	}
	files := func() string {
		return times.ReplaceAllString(w.read("data/cards.jsonl")+w.read("meta/evidence.jsonl")+w.read("meta/rejections.jsonl"), "")
	}
	before := files()
	if n := strings.Count(w.read("cassette.jsonl"), `"page":`); n != 4 {
		t.Errorf("%d pages are recorded, want 4:\n%s", n, w.read("cassette.jsonl"))
	}
	empty(true)

	// Over the recording the same is another decision: a page that was recorded is none
	// that was read now. The corpus knows its records.
	w.edit(`pipeline "test" {}`, `pipeline "test" { replay = "cassette.jsonl" }`)
	empty(false)
	again := w.run()
	if diff := cmp.Diff(ends, again.Tally.Ends); diff != "" || again.Tally.PagesReplayed != 4 {
		t.Errorf("over the recording: %+v\n%s", again, diff)
	}
	empty(true)
	if again = w.run(); again.Tally.Settled != 4 || again.Tally.PagesReplayed != 0 {
		t.Errorf("once more: %+v", again)
	}

	removeAll(t, w, "staging", "data", "meta")
	replayed := w.run()
	if diff := cmp.Diff(ends, replayed.Tally.Ends); diff != "" || replayed.Tally.Pages != 0 || replayed.Tally.PagesReplayed != 4 {
		t.Errorf("replayed: %+v\n%s", replayed, diff)
	}
	if diff := cmp.Diff(before, files()); diff != "" {
		t.Errorf("the corpus (-live +replayed):\n%s", diff)
	}
	if !strings.Contains(w.read("meta/evidence.jsonl"), `"recorded":true`) {
		t.Errorf("the evidence does not tell that its pages were recorded:\n%s", w.read("meta/evidence.jsonl"))
	}
	if connections, _ := s.came(); connections != 0 {
		t.Errorf("a replay made %d connections", connections)
	}

	// --live reads the web, whatever is replayed.
	live = w.run(func(o *Options) { o.Live = true })
	if _, requests := s.came(); requests != 5 || live.Tally.Pages != 4 {
		t.Errorf("live over what is replayed: %d requests, %+v", requests, live)
	}
}

// A page that is not recorded parks its item: nobody is asked behind the user's back.
func TestPageMiss(t *testing.T) {
	s := newServer(t)
	w := readingWorkspace(t, s, "fine", "gone")
	w.run(func(o *Options) { o.Record = w.dir + "/cassette.jsonl" })
	removeAll(t, w, "staging", "data", "meta")
	w.edit(`pipeline "test" {}`, `pipeline "test" { replay = "cassette.jsonl" }`)
	w.write("items.jsonl", strings.Join(items(s, "fine", "gone", "finer"), "\n")+"\n")
	s.came()
	got := w.run(func(o *Options) { o.KeepGoing = true })
	if diff := cmp.Diff(map[dag.End]int{dag.Accepted: 1, dag.Rejected: 1, dag.Parked: 1}, got.Tally.Ends); diff != "" || got.Kind.ExitStatus() != 2 {
		t.Errorf("%+v\n%s", got, diff)
	}
	reason := problem(t, got, "finer").Reason
	for _, part := range []string{"read page " + s.URL + "/finer", "no page is recorded under this address", "holds 2", "nearest: line 1, " + s.URL + "/fine"} {
		if !strings.Contains(reason, part) {
			t.Errorf("the reason does not say %q:\n%s", part, reason)
		}
	}
	if connections, _ := s.came(); connections != 0 {
		t.Errorf("a replay made %d connections", connections)
	}

	// Recorded, it goes on.
	w.run(func(o *Options) { o.Live, o.Record = true, w.dir+"/cassette.jsonl" })
	if got := w.run(); got.Tally.Ends[dag.Accepted] != 2 || got.Kind != 0 {
		t.Errorf("after the recording: %+v", got)
	}
}

// A dry run reads pages as a run does, and commits nothing.
func TestDryRunReadsPages(t *testing.T) {
	s := newServer(t)
	w := readingWorkspace(t, s, "fine", "gone")
	got := w.run(func(o *Options) { o.Dry = true })
	if _, requests := s.came(); requests != 2 || got.Tally.Pages != 2 || got.Tally.Ends[dag.Rejected] != 1 || got.Tally.Ends[dag.Accepted] != 1 {
		t.Errorf("%d requests: %+v", requests, got)
	}
	if rows := w.rows("meta/evidence.jsonl"); len(rows) != 0 {
		t.Errorf("a dry run wrote %s", rows)
	}
}

// A gate that reads no page makes no reader, and an edit of the recorded pages
// changes nothing about its run.
func TestGateWithoutPages(t *testing.T) {
	w := promptedWorkspace(t)
	w.run(func(o *Options) { o.Record = w.dir + "/cassette.jsonl" })
	removeAll(t, w, "staging", "data", "meta")
	w.edit(`pipeline "test" {}`, `pipeline "test" { replay = "cassette.jsonl" }`)
	w.run()
	w.write("cassette.jsonl", w.read("cassette.jsonl")+`{"page":{"url":"https://www.nps.gov/a","verdict":"live","at":"2026-01-15T10:15:00Z"}}`+"\n")
	if got := w.run(); got.Tally.Settled != 3 {
		t.Errorf("after a page was recorded: %+v", got)
	}
}
