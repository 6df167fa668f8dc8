package engine

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/plugins/proto"
	"github.com/penstock-run/penstock/plugins/sdk"
)

// The actor is a stage plugin that plays whatever the test says: for each visit
// it asks the test's director, in the test's own process, what to answer. So a
// test counts visits, holds them up, and lets them crash, with real processes
// in between.

// call is a visit, or a completion, that has begun.
type call struct {
	Stage  string
	Key    string
	Pass   int
	Sample int
	Input  jsontext.Value // of a completion: its last message, as text
	PID    int
	At     time.Time `json:"-"` // when it began, as the director sees it
}

// answer is what is to become of it.
type answer struct {
	Outcome    string
	Output     jsontext.Value // null: the input
	Code       string         // fail
	Infra      bool           // the failure is the world's
	Kind       int            // of a completion's error
	Message    string
	RetryAfter int // ms
	Crash      bool
	Break      bool // the connection to the host, while the process lives on
	Hang       bool // until the visit is cancelled
	Ask        string
	Findings   []sdk.Finding
}

func actorInfo(name string) *dag.PluginInfo {
	i := actorStage(name).Info
	return &dag.PluginInfo{
		Name: i.Name, Version: i.Version, Behaviour: i.Behaviour, Kind: "stage", Services: i.Services,
		Config: []dag.ConfigField{{Name: "note", Type: "string"}},
	}
}

// wire is a pool of connections to the director.
type wire struct {
	address string
	idle    chan *connection
}

type connection struct {
	net.Conn
	in *bufio.Reader
}

func (w *wire) ask(c call) (answer, error) {
	var a answer
	var conn *connection
	select {
	case conn = <-w.idle:
	default:
		made, err := net.Dial("tcp", w.address)
		if err != nil {
			return a, err
		}
		conn = &connection{made, bufio.NewReader(made)}
	}
	b, err := json.Marshal(c)
	if err == nil {
		_, err = conn.Write(append(b, '\n'))
	}
	if err != nil {
		return a, err
	}
	line, err := conn.in.ReadBytes('\n')
	if err != nil {
		return a, err
	}
	select {
	case w.idle <- conn:
	default:
		_ = conn.Close()
	}
	return a, json.Unmarshal(line, &a)
}

// The director's address stands in a file beside the pipeline and not in the
// configuration: it is no part of what an action is.
func wireFrom(folder string) *wire {
	address, err := os.ReadFile(folder + "/director")
	if err != nil {
		return nil // nobody directs: the input is the output
	}
	return &wire{string(address), make(chan *connection, 128)}
}

// actorStage is the actor, and under the name of asker one that may ask a
// provider.
func actorStage(name string) sdk.Stage {
	var mu sync.Mutex
	var line *wire
	stage := sdk.Stage{
		Info: sdk.Info{Name: name, Version: "1", Behaviour: "actor/1", Config: []sdk.Field{{Name: "note", Type: "string"}}},
		Configure: func(_ context.Context, c sdk.Config) (sdk.Func, error) {
			if strings.Contains(string(c.JSON), "refused") {
				return nil, sdk.Diagnostics{{Summary: "Not this note", Detail: "Write another.", Path: []string{"note"}}}
			}
			mu.Lock()
			defer mu.Unlock()
			if line == nil {
				line = wireFrom(c.Directory)
			}
			return func(ctx context.Context, v *sdk.Visit) (sdk.Result, error) { return act(ctx, line, c.Stage, v) }, nil
		},
	}
	if name == "asker" {
		stage.Info.Services = []string{"complete"}
	}
	return stage
}

func act(ctx context.Context, line *wire, stage string, v *sdk.Visit) (sdk.Result, error) {
	if line == nil {
		return sdk.Result{Output: v.Input}, nil
	}
	a, err := line.ask(call{Stage: stage, Key: v.Key, Pass: v.Pass, Sample: v.Sample, Input: v.Input, PID: os.Getpid()})
	if err != nil {
		return sdk.Result{}, sdk.Infra("E_UNAVAILABLE", "the director is gone: %v", err)
	}
	switch {
	case a.Crash:
		fmt.Fprintln(os.Stderr, "panic: as the director says")
		os.Exit(2)
	case a.Break:
		for fd := range 64 {
			_ = syscall.Shutdown(fd, syscall.SHUT_RDWR) // what is no socket says no
		}
		<-ctx.Done()
		return sdk.Result{}, ctx.Err()
	case a.Hang:
		<-ctx.Done()
		return sdk.Result{}, ctx.Err()
	case a.Infra:
		return sdk.Result{}, sdk.Infra(a.Code, "%s", a.Message).After(time.Duration(a.RetryAfter) * time.Millisecond)
	case a.Code != "":
		return sdk.Result{}, sdk.Fail(a.Code, "%s", a.Message)
	}
	r := sdk.Result{Outcome: a.Outcome, Output: []byte(a.Output), Findings: a.Findings}
	if a.Output == nil || string(a.Output) == "null" {
		r.Output = v.Input
	}
	if a.Ask != "" {
		reply, err := v.Complete(ctx, &sdk.CompletionRequest{
			Messages: []*sdk.Message{{Role: "user", Parts: []*sdk.Part{{Text: a.Ask}}}}, Sample: uint32(v.Sample),
		})
		if err != nil {
			return sdk.Result{}, err
		}
		r.Output = map[string]string{"said": reply.Text}
	}
	return r, nil
}

// serveModel is a provider whose answers the director gives, under the name of
// its block.
func serveModel() {
	sdk.ServeProvider(sdk.Provider{
		Info: sdk.ProviderInfo{Name: "model", Version: "1", Behaviour: "model/1", WireVersion: "1", Schema: true,
			Config: []sdk.Field{{Name: "director", Type: "string"}}},
		Configure: func(_ context.Context, c sdk.ProviderConfig) (sdk.Completer, error) {
			var config struct {
				Director string `json:"director"`
			}
			if err := c.Into(&config); err != nil {
				return nil, err
			}
			line := &wire{config.Director, make(chan *connection, 128)}
			return func(_ context.Context, r *sdk.CompletionRequest) (*sdk.CompletionReply, error) {
				text := r.Messages[len(r.Messages)-1].Parts[0].Text
				quoted, err := json.Marshal(text)
				if err != nil {
					return nil, err
				}
				a, err := line.ask(call{Stage: "provider." + c.Provider, Input: quoted, Sample: int(r.Sample), PID: os.Getpid()})
				if err != nil {
					return nil, err
				}
				if a.Crash {
					os.Exit(2)
				}
				if a.Kind != 0 {
					return nil, &sdk.ProviderError{Kind: proto.ProviderError_Kind(a.Kind), Message: a.Message, RetryAfter: time.Duration(a.RetryAfter) * time.Millisecond}
				}
				said := string(a.Output)
				var plain string
				if json.Unmarshal(a.Output, &plain) == nil {
					said = plain
				}
				return &sdk.CompletionReply{Text: said, FinishReason: "stop", Model: c.Model, Usage: &sdk.Usage{Input: 10, Output: 5}}, nil
			}, nil
		},
	})
}

// director answers the actors' calls.
type director struct {
	t        testing.TB
	listener net.Listener
	play     func(*call) answer // called by many at once

	mu      sync.Mutex
	changed chan struct{} // closed and renewed at each change
	calls   []call        // as they began
	done    int           // calls that were answered
	live    map[string]int
	peak    map[string]int // most at a time, by stage; "" is all
	pids    map[int]bool
}

func newDirector(t testing.TB, play func(*call) answer) *director {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &director{t: t, listener: listener, play: play, changed: make(chan struct{}),
		live: map[string]int{}, peak: map[string]int{}, pids: map[int]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go d.serve(conn)
		}
	})
	t.Cleanup(func() { _ = listener.Close(); all.Wait() })
	return d
}

func (d *director) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // a process has ended
		}
		var c call
		if err := json.Unmarshal(line, &c); err != nil {
			d.t.Errorf("an actor says %q: %v", line, err)
			return
		}
		play := d.begin(&c)
		a := play(&c)
		d.end(&c)
		b, err := json.Marshal(a)
		if err != nil {
			d.t.Errorf("%+v: %v", a, err)
			return
		}
		if _, err := conn.Write(append(b, '\n')); err != nil {
			return
		}
	}
}

func (d *director) begin(c *call) func(*call) answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.At = time.Now()
	d.calls = append(d.calls, *c)
	d.pids[c.PID] = true
	for _, s := range []string{"", c.Stage} {
		d.live[s]++
		d.peak[s] = max(d.peak[s], d.live[s])
	}
	d.announce()
	return d.play
}

func (d *director) end(c *call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done++
	d.live[""]--
	d.live[c.Stage]--
	d.announce()
}

func (d *director) announce() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// direct changes the play for the calls to come.
func (d *director) direct(play func(*call) answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.play = play
}

// forget starts the counts over.
func (d *director) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.done = nil, 0
	clear(d.peak)
}

// made counts the calls of a stage; of every stage for "".
func (d *director) made(stage string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count(stage)
}

func (d *director) count(stage string) int {
	n := 0
	for i := range d.calls {
		if stage == "" || d.calls[i].Stage == stage {
			n++
		}
	}
	return n
}

// all is a copy of the calls.
func (d *director) all() []call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]call(nil), d.calls...)
}

// most is how many calls of a stage were under way at a time.
func (d *director) most(stage string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.peak[stage]
}

// until waits for a condition on the calls; it is called under the lock.
func (d *director) until(what string, holds func() bool) {
	d.t.Helper()
	if !d.wait(holds) {
		d.t.Fatalf("waited in vain for %s; %d calls were made, %d answered", what, len(d.all()), d.done)
	}
}

// over wakes who waits: a run has ended, with or without a visit.
func (d *director) over() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.announce()
}

func (d *director) wait(holds func() bool) bool {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		d.mu.Lock()
		ok, changed := holds(), d.changed
		d.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-limit.C:
			return false
		}
	}
}

// set gives a document with one more member.
func set(input jsontext.Value, name string, value any) jsontext.Value {
	members := map[string]any{}
	if err := json.Unmarshal(input, &members); err != nil {
		panic(fmt.Sprintf("engine: the actor was given %s: %v", input, err))
	}
	members[name] = value
	return jsonOf(members)
}

func jsonOf(v any) jsontext.Value {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic("engine: " + err.Error())
	}
	return b
}

// member reads one member of a document, as text or as what JSON makes of it.
func member(doc jsontext.Value, name string) any {
	members := map[string]any{}
	if json.Unmarshal(doc, &members) != nil {
		return nil
	}
	return members[name]
}
