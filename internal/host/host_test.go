package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/proto"
)

func TestVisit(t *testing.T) {
	r := newRig(t, nil)
	got := r.run(bundledStage("echo"), `{"a":1}`)
	if got.Err != nil || got.Word != "ok" || string(got.Output) != `{"a":1}` {
		t.Fatalf("%+v", got)
	}
	if got.Facts.StartedAt.IsZero() || got.Facts.EndedAt.Before(got.Facts.StartedAt) {
		t.Errorf("facts %+v", got.Facts)
	}
}

func TestResults(t *testing.T) {
	figure := 0.5
	for _, test := range []struct {
		input string
		want  host.Result
	}{
		{`"ok"`, host.Result{Word: "ok", Output: []byte(`{"n":1}`), Notes: []string{"a", "b\uFFFD"},
			Findings: []dag.PluginFinding{{Word: "thin", Triage: "review", Figure: &figure, Evidence: "short"}}}},
		{`"fail"`, host.Result{Failure: &dag.Failure{Code: "R_BAD", Message: "it is bad"}, Notes: []string{"tried"}}},
		{`"bytes"`, host.Result{Failure: &dag.Failure{Code: "E_OUTCOME", Message: `the outcome "\xff" is not UTF-8`}}},
		{`"infra"`, host.Result{RetryAfter: 1500 * time.Millisecond, Err: &dag.Error{Op: "visit stage", Subject: "s",
			Kind: dag.KindInfrastructure, Code: dag.ERateLimited, Err: fmt.Errorf("slow down")}}},
		{`"plain"`, host.Result{Err: &dag.Error{Op: "visit stage", Subject: "s",
			Kind: dag.KindInfrastructure, Code: dag.EUnavailable, Err: fmt.Errorf("something broke")}}},
		{`"undeclared"`, host.Result{Err: &dag.Error{Op: "visit stage", Subject: "s",
			Kind: dag.KindInfrastructure, Code: dag.EPlugin, Err: fmt.Errorf(`plugin words broke the protocol: it failed the item with the code "R_OTHER", which it does not declare (never declared)`)}}},
	} {
		t.Run(test.input, func(t *testing.T) {
			r := newRig(t, nil)
			stage := vice(t, "words")
			info, err := r.Describe(t.Context(), stage.Plugin)
			if err != nil {
				t.Fatal(err)
			}
			stage.Info = info
			got := r.run(stage, test.input)
			test.want.Visit = 1
			errs := cmp.Comparer(func(a, b *dag.Error) bool {
				if a == nil || b == nil {
					return a == b
				}
				return a.Error() == b.Error() && a.Kind == b.Kind && a.Code == b.Code
			})
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(host.Result{}, "Facts"), cmpopts.EquateEmpty(), errs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	r := newRig(t, nil)
	got, err := r.Describe(t.Context(), vice(t, "echo").Plugin)
	if err != nil {
		t.Fatal(err)
	}
	want := &dag.PluginInfo{Name: "vice", Version: "1.2.3", Behaviour: "vice/1", Kind: "stage", Outcomes: []string{"ok"},
		Codes: []dag.Code{"R_BAD"}, Services: []string{"complete"},
		Config: []dag.ConfigField{{Name: "depth", Type: "number", Required: true}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = r.Describe(t.Context(), vice(t, "provider").Plugin)
	if err != nil {
		t.Fatal(err)
	}
	want = &dag.PluginInfo{Name: "chat", Kind: "provider", WireVersion: "1",
		Config: []dag.ConfigField{{Name: "api_key", Type: "string", Sensitive: true}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A bundled plugin is known without a start.
func TestDescribeBundled(t *testing.T) {
	want := &dag.PluginInfo{Name: "echo", Behaviour: "echo/1"}
	r := newRig(t, func(o *host.Options) {
		o.Self = []string{"/nowhere"}
		o.Bundled = func(name string) (*dag.PluginInfo, bool) { return want, name == "echo" }
	})
	got, err := r.Describe(t.Context(), bundledStage("echo").Plugin)
	if err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	_, err = r.Describe(t.Context(), bundledStage("ecko").Plugin)
	if err == nil || err.Error() != `find plugin ecko: no plugin "builtin/ecko" is bundled with this version` {
		t.Error(err)
	}
}

func TestTwoStagesInOneProcess(t *testing.T) {
	r := newRig(t, nil)
	plugin := vice(t, "fussy").Plugin
	one := &dag.Stage{Name: "one", Plugin: plugin, Config: dag.NewDoc([]byte(`{"depth":1}`))}
	two := &dag.Stage{Name: "two", Plugin: plugin, Config: dag.NewDoc([]byte(`{"depth":2}`)), Schema: anySchema{}}
	a, b := r.submit(one, "1", 0), r.submit(two, "2", 0)
	if got, want := string(r.result(a).Output), fmt.Sprintf(`{"depth":1,"dir":%q,"schema":"","stage":"one"}`, r.dir); !sameJSON(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(r.result(b).Output), fmt.Sprintf(`{"depth":2,"dir":%q,"schema":"true","stage":"two"}`, r.dir); !sameJSON(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

type anySchema struct{}

func (anySchema) Validate([]byte) error { return nil }
func (anySchema) Source() dag.Doc       { return dag.NewDoc([]byte("true")) }
func (anySchema) Name() string          { return "any" }

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

func TestConfigurationRefused(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "fussy")
	stage.Config = dag.NewDoc([]byte(`{"depth":9}`))
	a, b := r.submit(stage, "1", 0), r.submit(stage, "2", 0)
	for _, visit := range []uint64{a, b} {
		got := r.result(visit)
		errorHas(t, got, "", "configure stage s: config.depth: Too deep: depth is 3 at most")
		if got.Err.Kind != dag.KindConfig {
			t.Errorf("kind %v", got.Err.Kind)
		}
	}
	err := r.Prepare(t.Context(), stage)
	var refused *host.ConfigError
	if !asError(err, &refused) {
		t.Fatalf("%v", err)
	}
	want := []dag.ConfigProblem{{Summary: "Too deep", Detail: "depth is 3 at most", Path: []string{"depth"}}}
	if diff := cmp.Diff(want, refused.Problems); diff != "" {
		t.Error(diff)
	}
	// Other stages of the same process go on.
	fine := &dag.Stage{Name: "fine", Plugin: stage.Plugin, Config: dag.NewDoc([]byte(`{"depth":1}`))}
	if err := r.Prepare(t.Context(), fine); err != nil {
		t.Error(err)
	}
	r.output(fine, "1")
}

// 200 visits at once, answered in the opposite order.
func TestManyAtOnceOutOfOrder(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "gather")
	for i := range 200 {
		r.submit(stage, fmt.Sprint(i+1), 0)
	}
	for visit := uint64(1); visit <= 200; visit++ {
		if got := r.result(visit); string(got.Output) != fmt.Sprint(visit) {
			t.Fatalf("visit %d got %s, %v", visit, got.Output, got.Err)
		}
	}
}

func TestR39LargeDocumentsBothWays(t *testing.T) {
	r := newRig(t, nil)
	big := `"` + strings.Repeat("é", 8<<20) + `"`
	stage := vice(t, "echo")
	a, b, c := r.submit(stage, big, 0), r.submit(stage, big, 0), r.submit(stage, `"small"`, 0)
	for _, visit := range []uint64{a, b} {
		if got := r.result(visit); got.Err != nil || string(got.Output) != big {
			t.Fatalf("visit %d: %v, %d bytes", visit, got.Err, len(got.Output))
		}
	}
	if got := r.result(c); string(got.Output) != `"small"` {
		t.Errorf("%+v", got)
	}
}

func TestDocumentOverTheLimit(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "huge")
	got := r.run(stage, "1")
	want := "the output of item1 has 68157442 bytes, a message takes 67043328 at most"
	if got.Failure == nil || got.Failure.Code != dag.EDocument || got.Failure.Message != want {
		t.Errorf("%v %v", got.Failure, got.Err)
	}
	got = r.run(stage, `"`+strings.Repeat("x", 64<<20)+`"`)
	want = "the input of item2 for stage s has 67108866 bytes, a plugin takes 67043328 at most"
	if got.Failure == nil || got.Failure.Code != dag.EDocument || got.Failure.Message != want {
		t.Errorf("%v %v", got.Failure, got.Err)
	}
	// One that does not know the limit breaks the protocol.
	got = r.run(vice(t, "oversize"), "1")
	errorHas(t, got, dag.EPlugin, "a message is too large for one side (both have to take 67108864 bytes")
}

func TestCancelAndTimeout(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "patient")
	late := r.submit(stage, "1", 100*time.Millisecond)
	errorHas(t, r.result(late), dag.ETimeout, "visit stage s: plugin patient did not answer within 100ms")
	r.untilLogged("ends: context deadline exceeded, with a deadline: true")

	given := r.submit(stage, "2", time.Hour)
	r.untilLogged("item2: waits")
	r.Cancel(given)
	got := r.result(given)
	if !asIs(got.Err, context.Canceled) || got.Err.Kind != dag.KindInterrupted {
		t.Errorf("%v", got.Err)
	}
	r.untilLogged("ends: context canceled")
	r.Cancel(given)  // has ended
	r.Cancel(987654) // never was
	r.output(stage, `"quick"`)
}

// A visit that is cancelled before its plugin has started ends at once.
func TestCancelWhileQueued(t *testing.T) {
	r := newRig(t, nil)
	visit := r.submit(vice(t, "silent"), "1", 0)
	r.Cancel(visit)
	if got := r.result(visit); !asIs(got.Err, context.Canceled) {
		t.Errorf("%v", got.Err)
	}
}

// A plugin that ignores cancellation costs its visits, not the others'; one that
// ignores a whole window of them is ended.
func TestStuckPluginIsEnded(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "stuck")
	r.output(stage, `"fine"`)
	stuck := make([]uint64, proto.Window)
	for i := range stuck {
		stuck[i] = r.submit(stage, `"stuck"`, 200*time.Millisecond)
	}
	for _, visit := range stuck {
		errorHas(t, r.result(visit), dag.ETimeout, "did not answer within 200ms")
	}
	r.untilLogged("it hangs: 256 visits are without an answer")
	r.output(stage, `"fine"`)
}

func TestProcesses(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "process")
	stage.Plugin.Processes = 3
	seen := map[int]bool{}
	var visits []uint64
	for range 30 { // three slots with ten each
		visits = append(visits, r.submit(stage, "1", 0))
	}
	for _, visit := range visits {
		seen[processOf(t, r.result(visit)).Pid] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d processes answered", len(seen))
	}
}

type process struct {
	Env []string `json:"env"`
	Dir string   `json:"dir"`
	Pid int      `json:"pid"`
}

func processOf(t *testing.T, got host.Result) process {
	t.Helper()
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	var p process
	if err := json.Unmarshal(got.Output, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// No variable of the host's leaks: a plugin sees PATH, what its block names, and
// what the host gives it.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_API_KEY", "hidden")
	t.Setenv("WANTED", "shown")
	t.Setenv("HOME", "/home/of/somebody")
	r := newRig(t, nil)
	stage := vice(t, "process")
	stage.Plugin.Env = []string{"WANTED", "NOT_SET", "TMPDIR"}
	p := processOf(t, r.run(stage, "1"))
	var names []string
	for _, variable := range p.Env {
		name, value, _ := strings.Cut(variable, "=")
		names = append(names, name)
		switch name {
		case "WANTED":
			if value != "shown" {
				t.Errorf("%s", variable)
			}
		case "TMPDIR":
			if !strings.HasPrefix(value, filepath.Join(os.TempDir(), "penstock-")) {
				t.Errorf("%s", variable)
			}
		}
	}
	slices.Sort(names)
	want := []string{"LANG", "PATH", "PENSTOCK_PLUGIN", "PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT",
		"PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR", "TMPDIR", "WANTED"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if p.Dir != r.dir {
		t.Errorf("a user's plugin runs in %s, want the pipeline's directory %s", p.Dir, r.dir)
	}
}

func TestCompletions(t *testing.T) {
	r := newRig(t, func(o *host.Options) {
		o.Complete = func(_ context.Context, stage *dag.Stage, q *proto.CompletionRequest) *proto.CompletionReply {
			if q.System == "item2" {
				return &proto.CompletionReply{Error: &proto.ProviderError{Kind: proto.ProviderError_RATE_LIMITED, Message: "wait", RetryAfterMillis: 250}}
			}
			return &proto.CompletionReply{Text: stage.Name + " " + q.System, Model: "m-7",
				Usage: &proto.Usage{Input: 10, CachedInput: 4, Output: 3}}
		}
	})
	stage := vice(t, "asks")
	got := r.run(stage, "1")
	if got.Err != nil || string(got.Output) != `"s item1"` {
		t.Fatalf("%s, %v", got.Output, got.Err)
	}
	want := dag.Facts{Model: "m-7", Calls: 1, Input: 10, Cached: 4, OutTokens: 3}
	if diff := cmp.Diff(want, got.Facts, cmpopts.IgnoreFields(dag.Facts{}, "StartedAt", "EndedAt")); diff != "" {
		t.Error(diff)
	}
	got = r.run(stage, "2")
	errorHas(t, got, dag.ERateLimited, "rate_limited: wait")
	if got.RetryAfter != 250*time.Millisecond {
		t.Errorf("retry after %s", got.RetryAfter)
	}
}

// More visits wait for completions than there are processors, and all get theirs.
func TestCompletionsSideBySide(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{}, 100)
	r := newRig(t, func(o *host.Options) {
		o.Complete = func(context.Context, *dag.Stage, *proto.CompletionRequest) *proto.CompletionReply {
			asked <- struct{}{}
			<-release
			return &proto.CompletionReply{Text: "x"}
		}
	})
	stage := vice(t, "asks")
	for range 100 {
		r.submit(stage, "1", 0)
	}
	for range 100 {
		<-asked
	}
	close(release)
	for visit := uint64(1); visit <= 100; visit++ {
		if got := r.result(visit); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
}

// A completion's context ends with its visit.
func TestCompletionEndsWithItsVisit(t *testing.T) {
	ended := make(chan error, 1)
	asked := make(chan struct{})
	r := newRig(t, func(o *host.Options) {
		o.Complete = func(ctx context.Context, _ *dag.Stage, _ *proto.CompletionRequest) *proto.CompletionReply {
			close(asked)
			<-ctx.Done()
			ended <- ctx.Err()
			return nil
		}
	})
	visit := r.submit(vice(t, "asks"), "1", 0)
	<-asked
	r.Cancel(visit)
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	r.result(visit)
}
