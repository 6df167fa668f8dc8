package engine

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// The pipelines that these tests run.

// plainGate accepts what comes, in one bucket.
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

// one has a single stage.
const one = `
source "items" {
  files = ["items.jsonl"]
  key   = origin.id
}
stage "work" {
  plugin = plugin.actor
}
route "done" {
  from = stage.work
  to   = gate.accept
}
` + plainGate

// chain has the stages named, one after the other.
func chain(names ...string) string {
	var b strings.Builder
	b.WriteString("source \"items\" {\n  files = [\"items.jsonl\"]\n  key   = origin.id\n}\n")
	for i, name := range names {
		to := "gate.accept"
		if i+1 < len(names) {
			to = "stage." + names[i+1]
		}
		fmt.Fprintf(&b, "stage %q {\n  plugin = plugin.actor\n  config { note = %[1]q }\n}\nroute %[1]q {\n  from = stage.%[2]s\n  to   = %[3]s\n}\n", name, name, to)
	}
	return b.String() + plainGate
}

// cards is a whole pipeline: items fan out, cards are written, verified,
// repaired once, and checked at the gate, which holds buckets from the first
// stage on. The gate's own lines stand in $GATE.
const cards = `
failure "R_BAD" { meaning = "Not good enough." }
failure "R_TWICE" { meaning = "There is one like it." }

source "items" {
  files = ["items.jsonl"]
  key   = origin.id
}
stage "miner" {
  plugin = plugin.actor
  config { note = "miner" }
  fan_out {
    each = output.cards
    key  = each.id
    min  = 1
    code = failure.R_BAD
  }
}
route "mined" {
  from = stage.miner
  to   = stage.writer
}
stage "writer" {
  plugin = plugin.actor
  config { note = "writer" }
}
route "written" {
  from = stage.writer
  to   = stage.verifier
}
stage "verifier" {
  plugin   = plugin.actor
  config { note = "verifier" }
  outcomes = ["accept", "repair", "reject"]
  forward  = item
}
route "verified" {
  from = stage.verifier
  on "accept" { to = gate.accept }
  on "repair" {
    to  = stage.repairer
    max = 1
    exhausted { stop = "failed" }
  }
  on "reject" { stop = "rejected" }
  fail { stop = "failed" }
}
stage "repairer" {
  plugin = plugin.actor
  config { note = "repairer" }
}
route "repaired" {
  from = stage.repairer
  to   = stage.verifier
}
gate "accept" {
  candidate = { card = item }
  bucket    = origin.bucket
  $GATE
  check "unique" {
    code = failure.R_TWICE
    keys = [card.text]
  }
  corpus "jsonl" {
    data     = "data/${bucket}.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
    id       = card.id
    evidence_record = { writer = visit.writer }
  }
  rejections = "meta/rejections.jsonl"
}
`

// topics are n items for cards, in so many buckets, each with so many cards.
func topics(n, buckets, each int) []string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"id":"t%03d","bucket":"b%d","cards":%d}`, i, i%buckets, each)
	}
	return items
}

// chance is a number below n that depends on the words alone: a play that
// draws so is the same in every run.
func chance(n int, words ...string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(words, "\x00")))
	return int(h.Sum32()>>7) % n
}

// mine, write, verify and repair are what the stages of cards do; how a card
// ends depends on its key alone.
func playCards(c *call) answer {
	switch c.Stage {
	case "miner":
		n, _ := member(c.Input, "cards").(float64)
		list := make([]any, int(n))
		for i := range list {
			list[i] = map[string]any{"id": fmt.Sprintf("%s-%d", member(c.Input, "id"), i), "bucket": member(c.Input, "bucket"), "draft": 0}
		}
		return answer{Output: set(c.Input, "cards", list)}
	case "writer":
		text := c.Key
		if chance(10, "twin", c.Key) == 0 {
			text = fmt.Sprint("like others of ", member(c.Input, "bucket"))
		}
		return answer{Output: set(c.Input, "text", text)}
	case "repairer":
		return answer{Output: set(c.Input, "draft", 1)}
	}
	draft, _ := member(c.Input, "draft").(float64)
	switch luck := chance(10, "verdict", c.Key); {
	case luck < 3 && draft == 0, luck == 0:
		return answer{Outcome: "repair"}
	case luck == 9:
		return answer{Outcome: "reject"}
	case luck == 8:
		return answer{Code: "E_REFUSED", Message: "I will not"}
	}
	return answer{Outcome: "accept"}
}

// cardOrder sorts record ids as the sources and fan-outs order them.
func cardOrder(ids []string) []string {
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	return sorted
}
