package gate

import (
	"os"
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// An item that was accepted and is refused by a stricter gate ends refused, its record
// stays, and the verdict says so. Of one that was never accepted it does not.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	first := mustOpen(t, options(t, dir, plain(uniqueQuestion())))
	if v := judge(t, first, question("1", "One?"))[0]; v.End != dag.Accepted || v.Kept {
		t.Fatalf("%+v", v)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, triage := range []dag.Triage{dag.Reject, dag.Review} {
		spec := plain(&dag.Check{Kind: "assert", Code: "R_STRICT", Triage: triage, Args: map[string]dag.Expr{"condition": val(false)}}, uniqueQuestion())
		strict := mustOpen(t, options(t, dir, spec))
		got := judge(t, strict, question("1", "One?"), question("2", "Two?"), question("1", "One more?"))
		for i, kept := range []bool{true, false, false} {
			if got[i].End != endOf[triage] || got[i].Kept != kept {
				t.Errorf("%s, %d: %s, kept %t", triage, i, got[i].End, got[i].Kept)
			}
		}
		if err := strict.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(inDir(dir, artFile)); err != nil || len(b) == 0 {
		t.Errorf("the record is gone: %v", err)
	}
}
