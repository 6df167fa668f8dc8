package completion

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
)

func TestRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	cache := &memory{}
	run := func(o Options, caller Caller, texts ...string) string {
		t.Helper()
		o.Record, o.Cache = path, cache
		s, _ := newService(t, o)
		for _, text := range texts {
			s.Complete(context.Background(), writer, caller, userSays(text))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	line := func(text, reply string) string {
		return `{"key":"` + mustKey(t, userSays(text)).String() + `","request":{"messages":[{"role":"user","text":"` + text + `"}]},"reply":{` + reply +
			`,"finish_reason":"stop","model":"m-2026","usage":{"input":10,"cached_input":4,"cache_write":2,"output":5}},"recorded_at":"2026-01-15T10:15:00Z"}` + "\n"
	}
	first := run(Options{}, answers(`{"n":1}`), "b", "a")
	if diff := cmp.Diff(line("a", `"json":{"n":1}`)+line("b", `"json":{"n":1}`), first); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if second := run(Options{}, never(t), "b"); second != first {
		t.Errorf("recording the same anew changed the file:\n%s", cmp.Diff(first, second))
	}
	cache.m = nil
	third := run(Options{}, answers("plain"), "b", "c")
	if diff := cmp.Diff(line("a", `"json":{"n":1}`)+line("b", `"text":"plain"`)+line("c", `"text":"plain"`), third); diff != "" {
		t.Errorf("recorded anew (-want +got):\n%s", diff)
	}
	os.Remove(path)
	if fromCache := run(Options{}, never(t), "b"); fromCache != line("b", `"text":"plain"`) {
		t.Errorf("an answer from the cache was recorded as:\n%s", fromCache)
	}

	s, _ := newService(t, Options{Replay: path})
	if got := s.Complete(context.Background(), writer, nil, userSays("b")); got.GetText() != "plain" {
		t.Errorf("the recording replays as %v", got)
	}
}

// What was paid for is in the file before the run ends.
func TestRecordSurvivesACrash(t *testing.T) {
	path := write(t, "c.jsonl", `{"request":{"messages":[{"role":"user","text":"old"}]},"reply":{"text":"x","finish_reason":"stop"}}`) // no newline
	s, _ := newService(t, Options{Record: path})
	s.Complete(context.Background(), writer, answers("new"), userSays("new"))
	c, err := ReadCassette(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Lookup(mustKey(t, userSays("new"))); !ok || c.Len() != 2 {
		t.Errorf("the file holds %d completions without Close, want both", c.Len())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTwoRecordersKeepEachOthersLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	a, _ := newService(t, Options{Record: path})
	b, _ := newService(t, Options{Record: path})
	a.Complete(context.Background(), writer, answers("1"), userSays("a"))
	b.Complete(context.Background(), writer, answers("2"), userSays("b"))
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := ReadCassette(path)
	if err != nil || c.Len() != 2 {
		t.Errorf("got %v, %v", c, err)
	}
}

func TestSecretsAreNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl")
	var log []string
	s, _ := newService(t, Options{Record: path, Log: func(level, message string) { log = append(log, level+": "+message) }})
	p := &dag.Provider{Name: "p", Secrets: map[string]string{"api_key": "sk-canary", "unset": ""}}
	s.Complete(context.Background(), p, answers("your key is sk-canary"), userSays("a"))
	s.Complete(context.Background(), p, answers("x"), userSays("my key is sk-canary"))
	refused := s.Complete(context.Background(), p, func(context.Context, *proto.CompletionRequest) (*proto.CompletionReply, error) {
		return nil, errors.New("key sk-canary is unknown")
	}, userSays("b"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := refused.GetError().GetMessage(), "provider p: key (sensitive) is unknown"; got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(b), "canary") || !strings.Contains(string(b), "your key is (sensitive)") || strings.Count(string(b), "\n") != 1 {
		t.Errorf("the cassette holds %s (%v)", b, err)
	}
	for _, l := range log {
		if strings.Contains(l, "canary") {
			t.Errorf("logged: %s", l)
		}
	}
	if len(log) != 1 || !strings.HasPrefix(log[0], "warn: a completion of provider p was not recorded: it holds a secret") {
		t.Errorf("log is %q", log)
	}
}

func TestRecordWhileReplaying(t *testing.T) {
	_, err := New(Options{Replay: "c.jsonl", Record: "d.jsonl"})
	if dag.KindOf(err) != dag.KindConfig || err.Error() != "record completions d.jsonl: nothing is called while c.jsonl is replayed, so there is nothing to record" {
		t.Errorf("got %v", err)
	}
}

func TestRecordIntoNoFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "c.jsonl")
	_, err := New(Options{Record: path})
	var e *dag.Error
	if !errors.As(err, &e) || err.Error() != "record completions "+path+": its folder does not exist" || e.Hint != "make the folder first: mkdir -p "+filepath.Dir(path) {
		t.Errorf("got %v, hint %q", err, e.Hint)
	}
}
