package host_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/internal/host"
	"github.com/penstock-run/penstock/plugins/proto"
)

func TestCrash(t *testing.T) {
	for _, test := range []struct {
		input string
		parts []string
	}{
		{`"exit"`, []string{"run plugin dies: ", "vice dies ended by itself (exit status 7); its last lines were:\n  cannot go on"}},
		{`"panic"`, []string{"ended by itself (exit status 2); its last lines were:\n  panic: the author's mistake", "goroutine"}},
	} {
		t.Run(test.input, func(t *testing.T) {
			r := newRig(t, nil)
			stage := vice(t, "dies")
			before := r.pid(stage)
			bystander := r.submit(stage, `"wait"`, 0)
			culprit := r.submit(stage, test.input, 0)
			for _, visit := range []uint64{bystander, culprit} {
				got := r.result(visit)
				errorHas(t, got, dag.EPluginCrash, test.parts...)
				if !got.Crashed || got.Err.Kind != dag.KindInfrastructure {
					t.Errorf("crashed %v, kind %v", got.Crashed, got.Err.Kind)
				}
			}
			if after := r.pid(stage); after == before {
				t.Error("the dead process answered")
			}
			r.untilLogged("dies error ")
		})
	}
}

// A crash that one of many caused can be pinned on it: alone, each of the others
// ends well.
func TestAlone(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "dies")
	r.pid(stage)
	inputs := []string{`"a"`, `"exit"`, `"b"`, `"exit"`, `"c"`}
	for _, input := range inputs {
		r.next++
		r.Submit(host.Task{Visit: r.next, Stage: stage, Key: "k", Input: []byte(input), Alone: true})
	}
	for i, input := range inputs {
		got := r.result(uint64(i + 2))
		if got.Crashed != (input == `"exit"`) {
			t.Errorf("%s: crashed %v, %v", input, got.Crashed, got.Err)
		}
	}
}

// What was not sent yet when the process died is run by the next one.
func TestUnsentVisitsSurviveACrash(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "patient")
	before := r.pid(stage)
	var sent, unsent []uint64
	for range proto.Window {
		sent = append(sent, r.submit(stage, `"wait"`, 0))
	}
	for range 10 {
		unsent = append(unsent, r.submit(stage, `"pid"`, 0))
	}
	r.until("a full window", func() bool { return r.count(": waits") == proto.Window })
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, visit := range sent {
		got := r.result(visit)
		errorHas(t, got, dag.EPluginCrash, "ended by itself (signal: killed)")
		if !got.Crashed {
			t.Error("not crashed")
		}
	}
	for _, visit := range unsent {
		if got := r.result(visit); got.Err != nil || string(got.Output) == strconv.Itoa(before) {
			t.Errorf("%s, %v", got.Output, got.Err)
		}
	}
}

func TestBrokenProtocol(t *testing.T) {
	for _, test := range []struct {
		vice, input string
		parts       []string
	}{
		{"garbage", "1", []string{"run plugin garbage: ", "broke the protocol: its stream ended: ", "unmarshal"}},
		{"quits", "1", []string{"broke the protocol: its stream ended: enough"}},
		{"empty", "1", []string{"visit stage s: plugin empty broke the protocol: its result has neither an output nor a failure"}},
		{"empty", `"nameless"`, []string{`visit stage s: plugin empty broke the protocol: it failed the item with the code "", which is none of content`}},
		{"provider", "1", []string{"plugin provider does not serve this"}},
	} {
		t.Run(test.vice+" "+test.input, func(t *testing.T) {
			r := newRig(t, nil)
			got := r.run(vice(t, test.vice), test.input)
			errorHas(t, got, dag.EPlugin, test.parts...)
			if got.Crashed {
				t.Error("a plugin that was ended by the host has not crashed")
			}
			if got.Shared != strings.Contains(got.Err.Error(), "its stream ended") {
				t.Errorf("shared: %v", got.Shared)
			}
		})
	}
}

func TestResultsThatNobodyAskedFor(t *testing.T) {
	r := newRig(t, nil)
	if got := r.output(vice(t, "stranger"), "5"); got != "5" {
		t.Error(got)
	}
	r.untilLogged("stranger warn 2 results for visits that are not running were ignored")
}

func TestTwoTasksOfOneNumber(t *testing.T) {
	r := newRig(t, nil)
	stage := vice(t, "patient")
	first := r.submit(stage, "1", 0)
	r.untilLogged("waits")
	r.Submit(host.Task{Visit: first, Stage: stage, Key: "other", Input: []byte("2")})
	errorHas(t, r.result(first), "", "two tasks bear the number 1")
	r.mu.Lock()
	delete(r.results, first)
	r.mu.Unlock()
	r.Cancel(first)
	if got := r.result(first); !strings.Contains(got.Err.Error(), "canceled") {
		t.Error(got.Err)
	}
}
