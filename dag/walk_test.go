package dag

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// must fails the test for an error that no test expects.
func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func proved(t testing.TB, b *build) *Graph {
	t.Helper()
	if problems := b.Prove(); len(problems) > 0 {
		t.Fatalf("the graph is not proved: %+v", problems)
	}
	return b.Graph
}

// expect takes the next step and checks what it asks for.
func expect(t testing.TB, tr *Traversal, kind StepKind, stage string) Step {
	t.Helper()
	step, err := tr.Next()
	step = must(t, step, err)
	name := ""
	if step.Stage != nil {
		name = step.Stage.Name
	}
	if step.Kind != kind || name != stage {
		t.Fatalf("the step asks %v of stage %q (%+v), want %v of %q", step.Kind, name, step, kind, stage)
	}
	return step
}

func apply(t testing.TB, tr *Traversal, e Event) {
	t.Helper()
	if err := tr.Apply(e); err != nil {
		t.Fatal(err)
	}
}

// visit expects a visit of a stage and ends it with this output.
func visit(t testing.TB, tr *Traversal, stage, output string) Step {
	t.Helper()
	step := expect(t, tr, DoVisit, stage)
	apply(t, tr, &Visited{Output: lit(output)})
	return step
}

func lookup(t testing.TB, tr *Traversal, n string) string {
	t.Helper()
	d, err := tr.Lookup(name(n))
	if err != nil {
		t.Fatal(err)
	}
	if d.IsNull() {
		return "null"
	}
	return string(d.Bytes)
}

func TestACardIsMinedCraftedRepairedOnceAndAccepted(t *testing.T) {
	g := proved(t, trivia())
	if g.First.Name != "topic_miner" || g.LongestTrail != 5 {
		t.Errorf("the first stage is %s and the longest trail %d, want topic_miner and 5", g.First.Name, g.LongestTrail)
	}
	parent := g.Start(Item{Key: "history/easy/1", Origin: lit(`{"cat":"history"}`)}, lit(`{"id":"r"}`))
	visit(t, parent, "topic_miner", `{"topics":[{"topic_id":"t1","cat":"history"},{"topic_id":"t2","cat":"music"}]}`)
	spawn := expect(t, parent, DoSpawn, "")
	want := []Child{
		{Key: "history/easy/1/t1", Item: lit(`{"cat":"history","topic_id":"t1"}`)},
		{Key: "history/easy/1/t2", Item: lit(`{"cat":"music","topic_id":"t2"}`)},
	}
	if diff := cmp.Diff(want, spawn.Children); diff != "" {
		t.Fatalf("children (-want +got):\n%s", diff)
	}
	apply(t, parent, &Spawned{})
	if step := expect(t, parent, Done, ""); step.End != Expanded {
		t.Errorf("the parent ends %q, want %q", step.End, Expanded)
	}

	child := g.Child(parent, spawn.Children[1])
	first := visit(t, child, "mme_crafter", `{"q":"Q","a":"A"}`)
	if got := string(first.Input.Bytes); got != `{"cat":"music","topic_id":"t2"}` {
		t.Errorf("the crafter gets %s, want the child's own element", got)
	}
	step := visit(t, child, "verifier", `{"status":"repair","repair_fields":["q"]}`)
	if got := string(step.Input.Bytes); got != `{"card":{"a":"A","q":"Q"}}` {
		t.Errorf("the verifier gets %s", got)
	}
	step = visit(t, child, "repairer", `{"q":"Q2","a":"A"}`)
	if got := string(step.Input.Bytes); got != `{"card":{"a":"A","q":"Q"},"report":{"repair_fields":["q"],"status":"repair"}}` {
		t.Errorf("the repairer gets %s, want the report that the edge carries", got)
	}
	step = expect(t, child, DoVisit, "verifier")
	if step.Pass != 2 {
		t.Errorf("the second verification is pass %d, want 2", step.Pass)
	}
	apply(t, child, &Visited{Output: lit(`{"status":"accept"}`)})
	expect(t, child, DoGate, "")
	if got := lookup(t, child, "artifact.topic_miner"); got != `{"cat":"music","topic_id":"t2"}` {
		t.Errorf("artifact.topic_miner is %s, want this item's own element", got)
	}
	apply(t, child, &Judged{End: Accepted, Record: "music-1"})
	expect(t, child, Done, "")

	trail := child.Trail()
	var visited []string
	for _, v := range trail.Visits {
		visited = append(visited, v.Stage+" "+v.Outcome)
	}
	if diff := cmp.Diff([]string{"mme_crafter ok", "verifier repair", "repairer ok", "verifier accept"}, visited); diff != "" {
		t.Errorf("visits (-want +got):\n%s", diff)
	}
	var ways []string
	for _, d := range trail.Decisions {
		ways = append(ways, d.Stage+" → "+d.To)
	}
	if diff := cmp.Diff([]string{"topic_miner → stage.mme_crafter", "mme_crafter → stage.verifier", "verifier → stage.repairer", "repairer → stage.verifier", "verifier → gate.accept"}, ways); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Seen{{Path: "item", JSON: []byte(`{"cat":"music","topic_id":"t2"}`)}}, trail.Decisions[0].Seen); diff != "" {
		t.Errorf("what the first route read (-want +got):\n%s", diff)
	}
	if trail.End != Accepted || trail.Record != "music-1" || trail.Parent != "history/easy/1" {
		t.Errorf("the trail ends %q with record %q and parent %q", trail.End, trail.Record, trail.Parent)
	}
}
