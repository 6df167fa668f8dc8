package engine

import (
	"testing"

	"github.com/penstock-run/penstock/dag"
)

// one is a pipeline of one stage.
const one = `
source "items" {
  files = ["items.jsonl"]
  key   = origin.id
}
stage "work" { plugin = plugin.actor }
route "done" {
  from = stage.work
  to   = gate.accept
}
` + plainGate

const plainGate = `
gate "accept" {
  candidate = { card = item }
  corpus "jsonl" {
    data     = "data/cards.jsonl"
    evidence = "meta/evidence.jsonl"
    id       = card.id
    record   = card
  }
  rejections = "meta/rejections.jsonl"
}
`

func TestOneStage(t *testing.T) {
	w := newWorkspace(t, one, numbered(20, ""), keep)
	s := w.run()
	if s.Kind != 0 || s.Tally.Ends[dag.Accepted] != 20 || w.made("work") != 20 {
		t.Fatalf("%+v", s)
	}
	w.forget()
	s = w.run()
	if s.Tally.Settled != 20 || w.made("") != 0 {
		t.Fatalf("%+v", s)
	}
}
