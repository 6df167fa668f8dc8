package report

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/draw"
	"github.com/penstock-run/penstock/internal/engine"
	"github.com/penstock-run/penstock/internal/staging"
)

// hostile are texts that would do something if a page took them for more than
// text.
var hostile = []string{
	`</script><script>document.body.dataset.pwned = 1</script>`,
	`<img src=x onerror="document.body.dataset.pwned=1">`,
	`"><b id=pwned>bold</b>`,
	`<!--<script>`,
	`]]></svg><svg onload=document.body.dataset.pwned=1>`,
	`{{.Run}} ${1} &lt;&#0;`,
	"nul \x00 bell \x07 escape \x1b[31m",
	"right to left \u202egnp.exe\u202c and \u2066isolated\u2069",
	"\u05d0\u05d1\u05d2 / \u0627\u0628\u062a",
	"line\nfeed\ttab",
	"javascript:document.body.dataset.pwned=1",
	`it's "quoted" $(touch pwned) \ and 100%`,
	"-starts-with-a-dash",
	"lines \u2028 and \u2029",
}

var began = time.Date(2026, 1, 15, 10, 15, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// hostileReport has such a text in every place that holds one.
func hostileReport() (*engine.RunReport, Items) {
	var items []*engine.ReportItem
	for i, text := range hostile {
		code := dag.Code("E_" + text)
		failure := &dag.Failure{Code: code, Cause: dag.EOutput, Message: text}
		finding := []dag.Finding{{Code: code, Triage: dag.Triage(text), Stage: text, Evidence: text}}
		seen := []dag.Seen{{Path: text, JSON: []byte(text)}}
		items = append(items, &engine.ReportItem{Source: text, ItemWhy: engine.ItemWhy{
			Item: text, Parent: text, Run: "20260115T101500Z-4f2a91", End: dag.Rejected, Status: text, Reason: text, Failed: failure,
			Codes: []engine.CodeWhy{{Code: code, Meaning: text}},
			Way: []engine.Step{
				{Visit: &engine.VisitFacts{Stage: text, Pass: i + 1, State: engine.VisitRun, Outcome: text, Rule: text, Seen: seen, Findings: finding, Model: text,
					StartedAt: began, EndedAt: began.Add(time.Second), Tokens: 1234, USD: ptr(0.0123), Output: dag.Sum([]byte(text))}},
				{Visit: &engine.VisitFacts{Stage: text, Pass: 1, State: engine.VisitRun, Failure: failure}},
				{Route: &engine.RouteWhy{Route: text, From: text, To: text, At: text, Seen: seen, Findings: finding,
					Under: []engine.Condition{{On: text}, {Fail: text}, {If: text, Holds: true, At: text}, {Other: text}}}},
			},
			Gate: &engine.GateWhy{As: dag.Triage(text), Findings: finding, Checks: []engine.CheckWhy{
				{CheckResult: gate.CheckResult{Name: text, Code: code, State: "failed", Figure: ptr(1.5), Evidence: text, Details: []gate.Detail{{At: text, Why: text}}}},
				{CheckResult: gate.CheckResult{Name: text, Code: code, State: "held"}},
			}},
			Record: &engine.RecordWhy{ID: text, Evidence: text},
			Spawn:  []string{text},
		}})
	}
	all := ""
	for _, text := range hostile {
		all += text + " "
	}
	r := &engine.RunReport{
		Version: 1,
		Run:     engine.ReportedRun{ID: "20260115T101500Z-4f2a91", Pipeline: all, Result: "stopped", Exit: ptr(3), Started: began, Ended: began.Add(90 * time.Second), Host: all, Flags: []string{all}, Error: all, Tripped: []string{all}},
		Notes:   []string{all},
		Summary: engine.RunSummary{Items: len(items), Settled: ptr(2), Ends: map[dag.End]int{dag.Rejected: len(items)},
			Counts: &staging.RunCounts{TakenIn: len(items), Asked: 3, Input: 10, Output: 20}},
		Graph: &draw.Picture{Version: 1, Name: all, Nodes: []draw.Node{
			{ID: "source.s", Kind: draw.SourceNode, Label: all, Items: ptr(3)}, {ID: "stage.w", Kind: draw.StageNode, Label: all, Provider: all, Items: ptr(3)},
			{ID: "gate.g", Kind: draw.GateNode, Label: all, Items: ptr(1)},
		}, Edges: []draw.Edge{
			{From: "source.s", To: "stage.w", Kind: "start", Label: all, Items: ptr(3), Times: ptr(3)},
			{From: "stage.w", To: "gate.g", Kind: "route", Label: all, Items: ptr(1), Times: ptr(2)},
			{From: "stage.w", To: "stop.failed", Kind: "unrouted", Label: all, Items: ptr(1), Times: ptr(1)},
		}},
		Timeline: &engine.Timeline{From: began, To: began.Add(90 * time.Second), Step: 30, Stages: []engine.StageTime{
			{Stage: all, Visits: 3, First: began, Last: began.Add(60 * time.Second), Busy: 45, Longest: 30, AtOnce: []float64{1, 0.5, 0}},
		}},
		Spend: engine.Spend{KnownUSD: 1.5, Rows: []engine.SpendRow{
			{Stage: all, Provider: all, Model: all, AnsweredBy: engine.ByProvider, Visits: 3, Calls: 3, Input: 10, Output: 20},
		}, Total: engine.SpendRow{Visits: 3, Calls: 3, Input: 10, Output: 20}},
	}
	for i, text := range hostile {
		r.Codes = append(r.Codes, engine.CodeReport{Code: dag.Code("E_" + text), Meaning: text, Status: text, Items: 1, Ends: map[dag.End]int{dag.Rejected: 1},
			Examples: []engine.CodeExample{{Item: text, End: dag.Rejected, Reason: text, Check: text, Figure: ptr(float64(i)), Evidence: text + "!", Details: []gate.Detail{{At: text, Why: text}}}}})
	}
	return r, each(items)
}

func each(items []*engine.ReportItem) Items {
	return func(yield func(*engine.ReportItem) error) error {
		for _, it := range items {
			if err := yield(it); err != nil {
				return err
			}
		}
		return nil
	}
}

// manyItems is a run of n plain items, made as they are read.
func manyItems(n int) (*engine.RunReport, Items) {
	r, _ := hostileReport()
	r.Run.Pipeline, r.Codes = "many", nil
	r.Summary.Items, r.Summary.Ends = n, map[dag.End]int{dag.Accepted: n - n/10, dag.Rejected: n / 10}
	return r, func(yield func(*engine.ReportItem) error) error {
		for i := range n {
			it := &engine.ReportItem{Source: "in", ItemWhy: engine.ItemWhy{Item: fmt.Sprintf("item-%06d", i), Run: r.Run.ID, End: dag.Accepted}}
			for k, stage := range []string{"draft", "verify", "repair", "verify"} {
				it.Way = append(it.Way,
					engine.Step{Visit: &engine.VisitFacts{Stage: stage, Pass: 1 + k/3, State: engine.VisitRun, Outcome: "ok", Model: "gpt-5-mini", StartedAt: began, EndedAt: began.Add(time.Duration(i) * time.Millisecond),
						Input: dag.Sum(fmt.Append(nil, i, k)), Output: dag.Sum(fmt.Append(nil, i, k+1)), Calls: 1, Tokens: 1000 + i%777}},
					engine.Step{Route: &engine.RouteWhy{Route: "way", From: stage, To: "stage.next", At: "pipeline.hcl:12,3", Under: []engine.Condition{{On: "ok"}}}})
			}
			it.Gate = &engine.GateWhy{}
			for k := range 16 {
				it.Gate.Checks = append(it.Gate.Checks, engine.CheckWhy{CheckResult: gate.CheckResult{Name: fmt.Sprintf("check_%d", k), Code: "R_CHECK", State: "held", Figure: ptr(float64(i % 31))}})
			}
			if i%10 == 0 && i > 0 {
				it.End, it.Reason, it.Codes = dag.Rejected, "it is the tenth", []engine.CodeWhy{{Code: "R_TENTH", Meaning: "Every tenth is refused."}}
			}
			if err := yield(it); err != nil {
				return err
			}
		}
		return nil
	}
}

func pageOf(t *testing.T, r *engine.RunReport, items Items, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, r, items, o); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
