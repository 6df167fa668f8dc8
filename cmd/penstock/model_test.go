package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/penstock-run/penstock/plugins/echo"
	"github.com/penstock-run/penstock/plugins/sdk"
	"github.com/penstock-run/penstock/plugins/wire/wiretest"
)

// models are the servers of the scripts that started one.
type models struct {
	mu sync.Mutex
	of map[string]*wiretest.Server
}

// model starts a server that speaks every provider's wire for the rest of the
// script, and answers as builtin/echo would: model [STATUS...]. $MODEL is its
// address. The first requests are refused with the statuses, in that order, each
// with the header "Retry-After: 0", or where it is written 429~250 with a wait of
// so many milliseconds; 0 stands for an answer, "cut" for one that is broken off,
// "stall" for one that begins and does not go on, "quota" for an account that is used
// up. The file $WORK/asked holds how many requests there were to a server that was
// given any of these. With -lines it answers with the lines of a file, one a request,
// the last for ever.
func (all *models) model(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: model [STATUS...], or model -lines FILE")
	}
	if len(args) == 2 && args[0] == "-lines" {
		lines := strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n")
		all.keep(ts, wiretest.ServeFunc(scriptTest{ts}, func(n int, _ wiretest.Request) wiretest.Step {
			return wiretest.Step{Text: lines[min(n, len(lines)-1)], Model: "lines-2026", Usage: &wiretest.Usage{Input: 100, Output: 10}}
		}))
		return
	}
	answer, err := echo.Provider().Configure(context.Background(), sdk.ProviderConfig{Model: "echo"})
	ts.Check(err)
	asked := filepath.Join(ts.Getenv("WORK"), "asked")
	s := wiretest.ServeFunc(scriptTest{ts}, func(n int, r wiretest.Request) wiretest.Step {
		if len(args) > 0 {
			if err := os.WriteFile(asked, []byte(strconv.Itoa(n+1)), 0o644); err != nil {
				ts.Logf("%v", err)
			}
		}
		if n < len(args) {
			switch args[n] {
			case "0":
			case "cut":
				return wiretest.Step{Text: `{"a":`, Fault: wiretest.Cut, After: 1}
			case "stall":
				return wiretest.Step{Text: `{"text":"a"}`, Fault: wiretest.Stall, After: 1}
			case "refused":
				return wiretest.Step{Text: "I would rather not.", Finish: "refusal"}
			case "length":
				return wiretest.Step{Text: `{"text":"a"}`, Finish: "length", Usage: &wiretest.Usage{Input: 100, Output: 10}}
			case "refused,cut": // and would fit, if it were an answer
				return wiretest.Step{Text: `{"text":"a"}`, Finish: "refusal, cut off"}
			case "refused,misfit":
				return wiretest.Step{Text: `{"text":7}`, Finish: "refusal"}
			case "cut,malformed":
				return wiretest.Step{Text: `{"text":"a`, Finish: "length"}
			case "cut,misfit":
				return wiretest.Step{Text: `{"text":7}`, Finish: "length"}
			case "malformed,misfit":
				return wiretest.Step{Text: `{"text":7} {"text":`}
			case "malformed":
				return wiretest.Step{Text: `{"text":`}
			case "misfit":
				return wiretest.Step{Text: `{"text":7}`}
			case "echo":
				said, err := json.Marshal(map[string]string{"text": fmt.Sprint(r.Header)})
				ts.Check(err)
				return wiretest.Step{Text: string(said), Model: fmt.Sprint(r.Header)}
			case "grammar":
				return wiretest.Step{Status: 400, Body: `{"error":{"message":"The compiled grammar is too large"}}`}
			case "quota":
				return wiretest.Step{Status: 429, Body: `{"error":{"message":"m","type":"insufficient_quota"}}`}
			default:
				word, wait, _ := strings.Cut(args[n], "~")
				status, err := strconv.Atoi(word)
				ts.Check(err)
				header := http.Header{"Retry-After": {"0"}}
				if wait != "" {
					header = http.Header{"Retry-After-Ms": {wait}}
				}
				return wiretest.Step{Status: status, Header: header, Body: `{"error":{"message":"as told"}}`}
			}
		}
		reply, err := answer(context.Background(), wiretest.Heard(r))
		if err != nil {
			return wiretest.Step{Status: 400, Body: `{"error":{"message":"the fake model: ` + err.Error() + `"}}`}
		}
		return wiretest.Step{Text: reply.Text, Model: "echo-2026", Usage: &wiretest.Usage{Input: 100, Output: 10}}
	})
	all.keep(ts, s)
}

// keep makes a server the one that the script asks.
func (all *models) keep(ts *testscript.TestScript, s *wiretest.Server) {
	ts.Setenv("MODEL", s.URL)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of == nil {
		all.of = map[string]*wiretest.Server{}
	}
	all.of[ts.Getenv("WORK")] = s
}

// called compares how often the server was asked since it started: called N.
func (all *models) called(ts *testscript.TestScript, neg bool, args []string) {
	all.mu.Lock()
	s := all.of[ts.Getenv("WORK")]
	all.mu.Unlock()
	if neg || len(args) != 1 || s == nil {
		ts.Fatalf("usage: called N, after model")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := s.Asked(); len(got) != want {
		ts.Fatalf("the model was asked %d times, not %d", len(got), want)
	}
}

// scriptTest is a script as the fake server sees a test.
type scriptTest struct{ ts *testscript.TestScript }

func (t scriptTest) Errorf(format string, args ...any) { t.ts.Logf(format, args...) }

func (t scriptTest) Cleanup(f func()) { t.ts.Defer(f) }
