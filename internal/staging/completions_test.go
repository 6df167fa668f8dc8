package staging

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

// Completions stand behind all that a record had before there were any: one
// without them is the same bytes as ever, and reads as one without them.
func TestCompletionsOfAnAction(t *testing.T) {
	d := func(s string) dag.Digest { return dag.Sum([]byte(s)) }
	a := &Action{Digest: d("action"), Stage: "s", Output: d("out"), Facts: dag.Facts{Model: "m", Calls: 2}}
	plain := a.append(nil)
	a.Completions = []dag.Completion{
		{Origin: "live", Request: d("q"), Answer: d("a"), Raw: d("r"), Schema: d("s")},
		{Origin: "cassette", Request: d("q"), Answer: d("b")},
		{Origin: "cache", Answer: d("c")},
	}
	if diff := cmp.Diff(a, decodeAction(a.append(nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := a.append(nil)[:len(plain)]; string(got) != string(plain) {
		t.Error("what stands before the completions is another than without them")
	}
	a.Completions = nil
	if diff := cmp.Diff(a, decodeAction(plain)); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
	if decodeAction(append(plain, 200)) != nil {
		t.Error("a record whose completions are cut off was read")
	}
}
