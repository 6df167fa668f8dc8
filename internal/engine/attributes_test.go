package engine

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-run/penstock/dag"
	"github.com/penstock-run/penstock/gate"
	"github.com/penstock-run/penstock/internal/lang"
)

// everything is a pipeline that says as much as this version runs.
const everything = `
pipeline "all" {
  description = "As much as there is."
  requires    = ">= 0.0.1"
  prices      = "prices.json"
  budget {
    calls  = 1000
    tokens = 1000000
    usd    = 9
  }
}
variable "note" {
  type        = string
  default     = "first"
  description = "What the first stage is told."
  sensitive   = false
  validation {
    condition = var.note != "bad"
    message   = "not so"
  }
}
mode "new" { value = "apply" }
mode "old" { value = "shadow" }
failure "R_BAD" {
  meaning = "Bad."
  triage  = "reject"
}
failure "R_IN" { meaning = "Not an item." }
failure "R_OLD" {
  meaning = "Once."
  retired = true
}
plugin "actor" {
  source    = "builtin/actor"
  network   = true
  env       = ["HOME"]
  processes = 1
}
plugin "actor2" { source = "builtin/actor" }
plugin "asker" {
  source  = "builtin/asker"
  network = true
}
plugin "model" { source = "builtin/model" }
plugin "model2" { source = "builtin/echo" }
provider "judge" {
  plugin = plugin.model
  model  = "m"
  config { director = "$DIRECTOR" }
  limits {
    requests_per_minute = 6000
    tokens_per_minute   = 6000000
    concurrency         = 8
    max_wait            = "30s"
    patience            = "5m"
    ignore_latency      = false
  }
  price {
    input        = 1
    output       = 2
    cached_input = 0.5
    cache_write  = 1.5
  }
}
provider "other" {
  plugin = plugin.model
  model  = "n"
  config { director = "$DIRECTOR" }
  price {
    input  = 3
    output = 4
  }
}
source "items" {
  files  = ["items.jsonl"]
  format = "jsonl"
  key    = origin.id
  limit  = 10
  schema = "item.json"
  code   = failure.R_IN
}
stage "one" {
  plugin = plugin.actor
  config { note = var.note }
  input = item
  output { schema = "any.json" }
  outcomes    = ["ok", "odd"]
  outcome     = output.n >= 0 ? "ok" : "odd"
  code        = failure.R_BAD
  forward     = output
  may_change  = ["n", "one"]
  must_change = false
  timeout     = "1m"
  concurrency = 4
  max_age     = "1000h"
  cache       = true
  volatile    = ["/at"]
  findings {
    codes = { thin = failure.R_BAD }
    mode  = mode.new
  }
  retry {
    attempts    = 2
    backoff     = "1ms"
    max_backoff = "2ms"
  }
}
route "one" {
  from = stage.one
  on "ok" { to = stage.ask }
  on "odd" {
    to  = stage.one
    max = 1
    exhausted {
      stop   = "failed"
      status = "odd"
    }
  }
  fail {
    to   = gate.accept
    as   = "skip"
    code = failure.R_BAD
  }
}
stage "ask" {
  plugin         = plugin.asker
  provider       = provider.judge
  samples        = 2
  forward        = item
  independent_of = [stage.other]
}
route "ask" {
  from = stage.ask
  to   = stage.other
}
stage "other" {
  plugin   = plugin.asker
  provider = provider.other
  forward  = item
}
route "other" {
  from = stage.other
  to   = stage.sort
}
stage "sort" {
  outcomes = ["ok", "no"]
  decide {
    rule "small" {
      if      = item.n < 1000
      outcome = "ok"
      output  = { n = item.n }
    }
    else {
      outcome = "no"
      output  = { n = 0 }
    }
    finding "huge" {
      if       = item.n > 1000000
      code     = failure.R_BAD
      triage   = "review"
      figure   = item.n
      evidence = "it is huge"
      mode     = mode.new
    }
  }
  forward = item
}
route "sort" {
  from = stage.sort
  on "ok" {
    when {
      if   = item.n > 1000000
      stop = "rejected"
    }
    else { to = stage.fan }
  }
  on "no" {
    to   = stage.fan
    mode = mode.new
    shadow { stop = "rejected" }
  }
}
stage "fan" {
  plugin = plugin.actor
  config { note = "fan" }
  fan_out {
    each = output.list
    key  = each.id
    min  = 1
    max  = 3
    code = failure.R_BAD
  }
}
route "fan" {
  from = stage.fan
  to   = gate.accept
}
invariant "all are asked" {
  from    = stage.one
  to      = gate.accept
  through = stage.ask
}
invariant "it holds" { condition = true }
gate "accept" {
  candidate   = { card = item }
  bucket      = origin.bucket
  hold        = stage.fan
  concurrency = 2
  rejections  = "meta/rejections.jsonl"
  undecided   = "review"
  allow_hosts = ["127.0.0.1"]
  same_owner  = [["a.example", "b.example"]]
  breaker {
    consecutive = 50
    counts      = ["failed"]
  }
  check "words" {
    name    = "length"
    code    = failure.R_BAD
    text    = card.id
    max     = 9
    if      = card.n < 1000
    triage  = "review"
    mode    = mode.new
    message = "too long"
    ends    = false
  }
  check "live" {
    if   = card.n > 2000
    code = failure.R_BAD
    urls = ["https://a.example/"]
  }
  corpus "jsonl" {
    data            = "data/${bucket}.jsonl"
    evidence        = "meta/evidence.jsonl"
    id              = card.id
    record          = card
    evidence_record = { n = card.n }
  }
}
`

// edit changes the pipeline; a file besides, if it has one.
type edit struct {
	from, to string
	file     [2]string // its name and content
	remove   string    // a text that stands in the way
}

// edits are one for each attribute, by "block.attribute".
var edits = map[string]edit{
	"pipeline.description":       {from: "As much as there is.", to: "All."},
	"pipeline.requires":          {from: ">= 0.0.1", to: ">= 0.0.2"},
	"pipeline.replay":            {from: `requires    =`, to: "replay = \"tape.jsonl\"\n  requires =", file: [2]string{"tape.jsonl", ""}},
	"budget.calls":               {from: "calls  = 1000", to: "calls  = 999"},
	"budget.tokens":              {from: "tokens = 1000000", to: "tokens = 999999"},
	"budget.usd":                 {from: "usd    = 9", to: "usd    = 8"},
	"variable.type":              {from: "type        = string\n  default     = \"first\"", to: "type        = object({ note = string })\n  default     = { note = \"second\" }", remove: `var.note != "bad"|var.note.note != "bad"|note = var.note }|note = var.note.note }`},
	"variable.default":           {from: `"first"`, to: `"second"`},
	"variable.description":       {from: "What the first stage is told.", to: "A note."},
	"variable.sensitive":         {from: "sensitive   = false", to: ""},
	"validation.condition":       {from: `var.note != "bad"`, to: `var.note != "worse"`},
	"validation.message":         {from: `"not so"`, to: `"no"`},
	"plugin.source":              {from: `source    = "builtin/actor"`, to: `source    = "builtin/asker"`, remove: "config { note = var.note }|provider = provider.judge\n  config { note = var.note }|stage \"fan\" {\n|stage \"fan\" {\n  provider = provider.judge\n"},
	"plugin.processes":           {from: "processes = 1", to: "processes = 2"},
	"plugin.env":                 {from: `["HOME"]`, to: `["HOME", "USER"]`},
	"plugin.network":             {from: "network   = true", to: "network   = false"},
	"provider.plugin":            {from: "plugin = plugin.model\n  model  = \"m\"", to: "plugin = plugin.model2\n  model  = \"m\"", remove: "  config { director = \"$DIRECTOR\" }|"},
	"provider.model":             {from: `"m"`, to: `"m2"`},
	"limits.requests_per_minute": {from: "= 6000\n", to: "= 5000\n"},
	"limits.tokens_per_minute":   {from: "= 6000000\n", to: "= 5000000\n"},
	"limits.concurrency":         {from: "concurrency         = 8", to: "concurrency         = 7"},
	"limits.max_wait":            {from: `"30s"`, to: `"31s"`},
	"limits.patience":            {from: `"5m"`, to: `"6m"`},
	"limits.ignore_latency":      {from: "ignore_latency      = false", to: "ignore_latency      = true"},
	"price.input":                {from: "input        = 1", to: "input        = 3"},
	"price.output":               {from: "output       = 2", to: "output       = 3"},
	"pipeline.prices":            {from: `"prices.json"`, to: `"prices2.json"`},
	"price.cache_write":          {from: "= 1.5", to: "= 1.6"},
	"price.cached_input":         {from: "= 0.5", to: "= 0.6"},
	"source.files":               {from: `["items.jsonl"]`, to: `["items.jsonl", "more.jsonl"]`, file: [2]string{"more.jsonl", `{"id":"z","bucket":"b","n":1,"list":[{"id":"x","n":1}]}` + "\n"}},
	"source.format":              {from: `format = "jsonl"`, to: `format = "lines"`},
	"source.key":                 {from: "key    = origin.id", to: `key    = "k-${origin.id}"`},
	"source.limit":               {from: "limit  = 10", to: "limit  = 1"},
	"source.schema":              {from: `"item.json"`, to: `"item2.json"`},
	"source.code":                {from: "code   = failure.R_IN", to: "code   = failure.R_BAD", remove: "failure \"R_IN\" { meaning = \"Not an item.\" }|"},
	"stage.plugin":               {from: "plugin = plugin.actor\n  config { note = \"fan\" }", to: "plugin = plugin.asker\n  provider = provider.judge\n  config { note = \"fan\" }"},
	"stage.provider":             {from: "provider       = provider.judge", to: "provider       = provider.other", remove: "independent_of = [stage.other]|"},
	"stage.input":                {from: "input = item", to: "input = { id = item.id, n = item.n, list = item.list, bucket = item.bucket, more = true }"},
	"stage.samples":              {from: "samples        = 2", to: "samples        = 3"},
	"stage.volatile":             {from: `["/at"]`, to: `["/at", "/by"]`},
	"stage.outcomes":             {from: `outcomes    = ["ok", "odd"]`, to: `outcomes    = ["ok", "odd", "even"]`, remove: "  on \"ok\" { to = stage.ask }|  on \"ok\" { to = stage.ask }\n  on \"even\" { stop = \"failed\" }|? \"ok\" : \"odd\"|? \"ok\" : output.n > -9 ? \"odd\" : \"even\""},
	"stage.outcome":              {from: "output.n >= 0 ?", to: "output.n >= -1 ?"},
	"stage.code":                 {from: "code        = failure.R_BAD", to: "code        = failure.R_IN"},
	"stage.forward":              {from: "forward     = output", to: ""},
	"stage.may_change":           {from: `["n", "one"]`, to: `["n", "one", "two"]`},
	"stage.must_change":          {from: "must_change = false", to: "must_change = true", remove: `may_change  = ["n", "one"]|may_change  = ["n", "one"] # and it is`},
	"stage.timeout":              {from: `timeout     = "1m"`, to: `timeout     = "2m"`},
	"stage.concurrency":          {from: "concurrency = 4", to: "concurrency = 5"},
	"stage.max_age":              {from: `"1000h"`, to: `"2000h"`},
	"stage.cache":                {from: "cache       = true", to: ""},
	"stage.independent_of":       {from: "independent_of = [stage.other]", to: ""},
	"stage.reads":                {from: "samples        = 2", to: "samples        = 2\n  reads = gate.accept"},
	"stage.rescue":               {from: "cache       = true", to: "cache       = true\n  rescue = \"odd\""},
	"rule.if":                    {from: "item.n < 1000\n      outcome", to: "item.n < 2000\n      outcome"},
	"rule.outcome":               {from: "outcome = \"ok\"\n", to: "outcome = \"no\"\n", remove: "else {\n      outcome = \"no\"|else {\n      outcome = \"ok\""},
	"rule.output":                {from: "output  = { n = item.n }", to: "output  = { n = item.n, small = true }"},
	"finding.if":                 {from: "if       = item.n > 1000000", to: "if       = item.n > 2000000"},
	"finding.code":               {from: "code     = failure.R_BAD", to: "code     = failure.R_IN"},
	"finding.triage":             {from: "triage   = \"review\"", to: "triage   = \"reject\""},
	"finding.figure":             {from: "figure   = item.n", to: "figure   = item.n + 1"},
	"finding.evidence":           {from: `"it is huge"`, to: `"huge"`},
	"finding.mode":               {from: "evidence = \"it is huge\"\n      mode     = mode.new", to: "evidence = \"it is huge\""},
	"output.schema":              {from: `"any.json"`, to: `"any2.json"`},
	"fan_out.each":               {from: "each = output.list", to: "each = [for x in output.list : x]"},
	"fan_out.key":                {from: "key  = each.id", to: `key  = "${each.id}"`},
	"fan_out.min":                {from: "min  = 1", to: "min  = 0"},
	"fan_out.max":                {from: "max  = 3", to: "max  = 4"},
	"fan_out.exactly":            {from: "min  = 1\n    max  = 3", to: "exactly = 2"},
	"fan_out.code":               {from: "max  = 3\n    code = failure.R_BAD", to: "max  = 3\n    code = failure.R_IN"},
	"findings.codes":             {from: "{ thin = failure.R_BAD }", to: "{ thin = failure.R_IN }"},
	"findings.mode":              {from: "codes = { thin = failure.R_BAD }\n    mode  = mode.new", to: "codes = { thin = failure.R_BAD }"},
	"retry.attempts":             {from: "attempts    = 2", to: "attempts    = 3"},
	"retry.backoff":              {from: `backoff     = "1ms"`, to: `backoff     = "3ms"`},
	"retry.max_backoff":          {from: `max_backoff = "2ms"`, to: `max_backoff = "4ms"`},
	"route.from":                 {from: "from = stage.ask\n  to   = stage.other", to: "from = [stage.ask]\n  to   = stage.sort", remove: "route \"other\" {\n  from = stage.other\n  to   = stage.sort\n}||stage \"other\" {\n  plugin   = plugin.asker\n  provider = provider.other\n  forward  = item\n}||independent_of = [stage.other]|"},
	"arm.if":                     {from: "if   = item.n > 1000000", to: "if   = item.n > 2000000"},
	"arm.to":                     {from: "to   = stage.fan\n    mode", to: "to   = gate.accept\n    mode"},
	"arm.max":                    {from: "max = 1\n", to: "max = 2\n"},
	"arm.as":                     {from: "as   = \"skip\"", to: "as   = \"reject\""},
	"arm.code":                   {from: "as   = \"skip\"\n    code = failure.R_BAD", to: "as   = \"skip\"\n    code = failure.R_IN"},
	"arm.stop":                   {from: "stop   = \"failed\"", to: "stop   = \"rejected\""},
	"arm.status":                 {from: "status = \"odd\"", to: "status = \"even\""},
	"arm.mode":                   {from: "    mode = mode.new\n    shadow { stop = \"rejected\" }", to: ""},
	"arm.outcome":                {from: "else {\n      outcome = \"no\"", to: "else {\n      outcome = \"ok\"", remove: "outcome = \"ok\"\n      output  = { n = item.n }|outcome = \"no\"\n      output  = { n = item.n }"},
	"arm.output":                 {from: "output  = { n = 0 }", to: "output  = { n = 1 }"},
	"failure.triage":             {from: "triage  = \"reject\"", to: "triage  = \"skip\""},
	"failure.meaning":            {from: `"Bad."`, to: `"Not good."`},
	"mode.value":                 {from: `value = "apply"`, to: `value = "shadow"`},
	"invariant.from":             {from: "from    = stage.one", to: "from    = stage.ask", remove: "through = stage.ask|through = stage.sort"},
	"invariant.through":          {from: "through = stage.ask", to: "through = stage.sort"},
	"invariant.condition":        {from: "condition = true", to: "condition = !false"},
	"gate.candidate":             {from: "candidate   = { card = item }", to: "candidate   = { card = item, first = origin }"},
	"gate.bucket":                {from: "bucket      = origin.bucket", to: `bucket      = "${origin.bucket}x"`},
	"gate.hold":                  {from: "hold        = stage.fan", to: "hold        = stage.one"},
	"gate.concurrency":           {from: "concurrency = 2", to: "concurrency = 3"},
	"gate.rejections":            {from: `"meta/rejections.jsonl"`, to: `"meta/refused.jsonl"`},
	"gate.undecided":             {from: "undecided   = \"review\"", to: "undecided   = \"parked\""},
	"gate.allow_hosts":           {from: `["127.0.0.1"]`, to: `["127.0.0.2"]`},
	"gate.same_owner":            {from: `["a.example", "b.example"]`, to: `["a.example", "c.example"]`},
	"check.code":                 {from: "name    = \"length\"\n    code    = failure.R_BAD", to: "name    = \"length\"\n    code    = failure.R_IN"},
	"check.name":                 {from: `"length"`, to: `"size"`},
	"check.if":                   {from: "if      = card.n < 1000", to: "if      = card.n < 2000"},
	"check.triage":               {from: "triage  = \"review\"", to: "triage  = \"reject\""},
	"check.mode":                 {from: "mode    = mode.new\n    message", to: "mode    = mode.old\n    message"},
	"check.message":              {from: `"too long"`, to: `"long"`},
	"check.ends":                 {from: "ends    = false", to: "ends    = true"},
	"check.text":                 {from: "text    = card.id", to: `text    = "${card.id}!"`},
	"check.max":                  {from: "max     = 9", to: "max     = 8"},
	"check.min":                  {from: "max     = 9", to: "min = 1\n    max     = 9"},
	"breaker.consecutive":        {from: "consecutive = 50", to: "consecutive = 49"},
	"breaker.counts":             {from: `["failed"]`, to: `["failed", "rejected"]`},
	"corpus.data":                {from: `"data/${bucket}.jsonl"`, to: `"data/of-${bucket}.jsonl"`},
	"corpus.id":                  {from: "id              = card.id", to: `id              = "${card.id}-1"`},
	"corpus.record":              {from: "record          = card", to: "record          = { id = card.id, n = card.n }"},
	"corpus.evidence_record":     {from: "{ n = card.n }", to: "{ m = card.n }"},
	"ask.question":               {from: "on \"odd\" {\n    to  = stage.one\n    max = 1\n    exhausted {\n      stop   = \"failed\"\n      status = \"odd\"\n    }\n  }", to: "on \"odd\" {\n    ask {\n      question = \"?\"\n      resume = stage.one\n      max = 1\n    }\n  }"},
	"review.question":            {from: "  breaker {", to: "  review { question = \"?\" }\n  breaker {"},
	"skipped.codes":              {from: "  breaker {", to: "  skipped { codes = [failure.R_BAD] }\n  breaker {"},
}

// unproved are attributes of what this version refuses as a whole, of which one
// stands for all, and arguments of checks: see TestEveryArgumentIsInTheGatesDigest.
func unproved(a lang.Attribute) bool {
	switch {
	case a.Effect == lang.Refused && (a.Block == "ask" || a.Block == "review" || a.Block == "skipped" || a.Block == "corpus" || a.Block == "outbox" || a.Block == "batch"):
		return true
	case a.Block == "corpus" && a.Name == "evidence":
		return true // of a corpus that is there it cannot be edited
	case a.Block == "invariant" && a.Name == "to":
		return true // it is a gate, and there is one
	case a.Block == "failure" && a.Name == "retired":
		return true // a code that is in use is not retired, and one that is not used must be: it is not edited alone
	case a.Block == "plugin" && (a.Name == "command" || a.Name == "files"):
		return true // of plugins that are not bundled: r22_plugin_files.txt of the command
	case a.Block == "check" && a.Effect == lang.OnVerdicts:
		_, common := map[string]bool{"code": true, "mode": true, "if": true, "triage": true, "ends": true}[a.Name]
		return !common
	}
	return false
}

// An edit of each attribute of the language, and the plan of it: what is made
// anew is what the language says, and the digests are what tells.
func TestRequirement17WhatAnEditOfEachAttributeDoes(t *testing.T) {
	w := newWorkspace(t, "", []string{`{"id":"a","bucket":"b","n":1,"list":[{"id":"x","n":1},{"id":"y","n":2}]}`, `{"id":"c","bucket":"b","n":2,"list":[{"id":"x","n":3},{"id":"y","n":4}]}`}, keep)
	base := strings.ReplaceAll(everything, "$DIRECTOR", w.listener.Addr().String())
	w.write("pipeline.hcl", base)
	for _, name := range []string{"prices.json", "prices2.json"} {
		w.write(name, `{"version":"2026-01-31","prices":[]}`)
	}
	w.write("item.json", `{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"bucket":{"type":"string"},"n":{"type":"number"},"list":{"type":"array","items":{"type":"object","required":["id","n"],"properties":{"id":{"type":"string"},"n":{"type":"number"}}}}}}`)
	w.write("item2.json", `{"type":"object","required":["id","n"],"properties":{"id":{"type":"string"},"bucket":{"type":"string"},"n":{"type":"number"},"list":{"type":"array"}}}`)
	w.write("any.json", `{"type":"object","required":["id","n"],"properties":{"id":{"type":"string"},"n":{"type":"number"},"list":{"type":"array"},"bucket":{"type":"string"}}}`)
	w.write("any2.json", `{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"n":{"type":"number"},"list":{"type":"array"},"bucket":{"type":"string"}}}`)
	if s := w.run(); s.Kind != 0 || s.Tally.Ends[dag.Accepted]+s.Tally.Ends[dag.Reviewed] == 0 {
		t.Fatalf("%+v", s)
	}
	before, err := MakePlanFile(t.Context(), w.options(nil))
	if err != nil || !before.Plan.Empty() {
		t.Fatalf("a plan after the run: %+v, %v", before, err)
	}
	verdicts := gate.DigestOf(w.graph().Gate)
	for _, a := range lang.Attributes() {
		name := a.Block + "." + a.Name
		e, ok := edits[name]
		if !ok {
			if !unproved(a) {
				t.Errorf("no edit of %s shows what it does", name)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			text := base
			w.t = t
			replace := func(from, to string) {
				from = strings.ReplaceAll(from, "$DIRECTOR", w.listener.Addr().String())
				if strings.Count(text, from) == 0 {
					t.Fatalf("the pipeline has no %q", from)
				}
				text = strings.Replace(text, from, to, 1)
			}
			replace(e.from, e.to)
			if parts := strings.Split(e.remove, "|"); e.remove != "" {
				for i := 0; i < len(parts); i += 2 {
					to := ""
					if i+1 < len(parts) {
						to = parts[i+1]
					}
					replace(parts[i], to)
				}
			}
			w.write("pipeline.hcl", text)
			if e.file[0] != "" {
				w.write(e.file[0], e.file[1])
				defer func() { _ = os.Remove(filepath.Join(w.dir, e.file[0])) }()
			}
			got := w.effectSince(before, verdicts)
			if a.Effect == lang.OnReaders && (got == lang.OnVisits || got == lang.OnVerdicts) {
				got = lang.OnReaders // here a stage's configuration reads it, or a check
			}
			if got != a.Effect {
				t.Errorf("an edit is on %s, the language says on %s", got, a.Effect)
			}
		})
	}
}

// effectSince is what the plan of the pipeline as it is says of an edit.
func (w *workspace) effectSince(before *PlanFile, verdicts dag.Digest) lang.Effect {
	w.t.Helper()
	o := w.options(nil)
	after, err := MakePlanFile(w.t.Context(), o)
	if err != nil {
		if strings.Contains(err.Error(), "not supported yet") {
			return lang.Refused
		}
		w.t.Fatal(err)
	}
	run := 0
	for _, s := range after.Plan.Stages {
		run += s.Run
	}
	sameRecipes := true
	for stage, parts := range after.Basis.Recipes { // of a stage that is gone no visit is made
		sameRecipes = sameRecipes && maps.Equal(before.Basis.Recipes[stage], parts)
	}
	switch {
	case !maps.Equal(before.Basis.Files, after.Basis.Files):
		return lang.OnItems
	case run > 0 || !sameRecipes:
		return lang.OnVisits
	case gate.DigestOf(o.Graph.Gate) != verdicts:
		return lang.OnVerdicts
	case before.Basis.Graph != after.Basis.Graph:
		return lang.OnWays
	case after.Plan.Settled != before.Plan.Settled || !after.Plan.Empty():
		return lang.OnItems
	}
	return lang.OnNothing
}
