package draw

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// repairGraph is draft → verify → (gate | repair once → verify | stop).
func repairGraph() *dag.Graph {
	draft := &dag.Stage{Name: "draft", Provider: &dag.Provider{Name: "writer"}, FanOut: &dag.FanOut{Min: 2, Max: 3}}
	verify := &dag.Stage{Name: "verify"}
	repair := &dag.Stage{Name: "repair"}
	return &dag.Graph{
		Pipeline: dag.Pipeline{Name: "a \"pipeline\""},
		Sources:  []*dag.Source{{Name: "in"}},
		Stages:   []*dag.Stage{draft, verify, repair},
		First:    draft,
		Gate:     &dag.Gate{Name: "accept"},
		Routes: []*dag.Route{
			{From: []*dag.Stage{draft}, To: &dag.Arm{Kind: dag.ArmStage, Stage: verify}},
			{From: []*dag.Stage{verify}, Order: []string{"good", "bad", "worse"}, On: map[string]*dag.Arm{
				"good":  {Kind: dag.ArmGate},
				"bad":   {Kind: dag.ArmStage, Stage: repair, Bounded: true, Max: 1, Exhausted: &dag.Arm{Kind: dag.ArmStop, End: dag.Failed}},
				"worse": {Kind: dag.ArmStop, End: dag.Rejected},
			}, Fail: []dag.FailArm{{Arm: &dag.Arm{Kind: dag.ArmStop, End: dag.Rejected}}}},
			{From: []*dag.Stage{repair}, To: &dag.Arm{Kind: dag.ArmStage, Stage: verify}},
		},
	}
}

func TestMermaid(t *testing.T) {
	var out bytes.Buffer
	if err := Of(repairGraph()).Mermaid(&out); err != nil {
		t.Fatal(err)
	}
	want := `flowchart TB
  source_in[("in")]
  stage_draft("draft<br/>writer")
  stage_verify("verify")
  stage_repair("repair")
  gate_accept[["accept"]]
  stop_failed(["failed"])
  stop_rejected(["rejected"])
  source_in --> stage_draft
  stage_draft -->|"each ×2–3"| stage_verify
  stage_verify -->|"good"| gate_accept
  stage_verify -.->|"bad, at most 1×"| stage_repair
  stage_verify -.->|"bad, exhausted"| stop_failed
  stage_verify -->|"worse"| stop_rejected
  stage_verify -.->|"fails"| stop_rejected
  stage_repair --> stage_verify
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestSVG proves that every node is drawn once, inside the picture, and that
// none covers another; that the text is XML whatever a pipeline is called.
func TestSVG(t *testing.T) {
	p := Of(repairGraph())
	var out bytes.Buffer
	if err := p.SVG(&out); err != nil {
		t.Fatal(err)
	}
	rects := 0
	dec := xml.NewDecoder(&out)
	for {
		token, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			rects++
		}
	}
	if rects != len(p.Nodes) {
		t.Errorf("%d boxes for %d nodes", rects, len(p.Nodes))
	}
	nodes, _ := p.place()
	for i, a := range nodes {
		for _, b := range nodes[:i] {
			if a.layer == b.layer && a.x-a.w/2 < b.x+b.w/2 && b.x-b.w/2 < a.x+a.w/2 {
				t.Errorf("%s covers %s", a.ID, b.ID)
			}
		}
	}
}

func TestDOTQuotesNames(t *testing.T) {
	var out bytes.Buffer
	if err := Of(repairGraph()).DOT(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), `digraph "a \"pipeline\"" {`) {
		t.Errorf("the name is not quoted: %s", out.String())
	}
}
