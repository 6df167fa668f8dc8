package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-run/penstock/dag"
)

func TestRecordAndEvidence(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir, plain(uniqueQuestion()))
	o.Now = clock()
	g := mustOpen(t, o)
	v := judge(t, g, cardCandidate("i/1", "history/easy", `{"q": "One?"}`), cardCandidate("i/2", "history/easy", `{"q": "Two?", "id": "two"}`))
	if v[0].End != dag.Accepted || v[1].End != dag.Accepted || v[0].Err != nil {
		t.Fatalf("%+v", v)
	}
	want := []string{
		`{"id":"46e0e947aeca2a70","q":"One?"}`,
		`{"id":"two","q":"Two?"}`,
	}
	if diff := cmp.Diff(want, lines(t, dir, "data/history/easy.jsonl")); diff != "" {
		t.Error(diff)
	}
	t.Log(lines(t, dir, "meta/verification.jsonl"))
	again := judge(t, g, cardCandidate("i/1", "history/easy", `{"q": "One?"}`))
	if !again[0].Known || again[0].End != dag.Accepted {
		t.Errorf("%+v", again)
	}
	dup := judge(t, g, cardCandidate("i/3", "music/easy", `{"q": "One?", "x":1}`))
	if codes(dup[0]) != "R_DUP_EXACT" || dup[0].End != dag.Rejected {
		t.Errorf("%+v", dup)
	}
	t.Log(lines(t, dir, "meta/rejections.jsonl"))
	t.Log(lines(t, dir, "meta/breakers.jsonl"))
}
