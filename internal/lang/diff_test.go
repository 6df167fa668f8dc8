package lang

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"pgregory.net/rapid"

	"github.com/penstock-run/penstock/dag"
)

// swap replaces a text that stands in a file once.
type swap struct{ file, old, new string }

func pipelineFS(t testing.TB, dir string, swaps ...swap) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	addTree(t, fsys, dir, func(name string) string { return name })
	for _, s := range swaps {
		if s.file == "" {
			s.file = "pipeline.hcl"
		}
		text := string(fsys[s.file].Data)
		if n := strings.Count(text, s.old); n != 1 {
			t.Fatalf("%s has %q %d times, not once", s.file, s.old, n)
		}
		fsys[s.file] = &fstest.MapFile{Data: []byte(strings.Replace(text, s.old, s.new, 1))}
	}
	return fsys
}

func loadFS(t testing.TB, fsys fstest.MapFS) *dag.Graph {
	t.Helper()
	g, files, diags := Load(Options{FS: fsys, Describe: describe, Environ: environ("WRITER_KEY", "secret-w", "OTHER_KEY", "secret-o")})
	if g == nil {
		t.Fatal(render(t, files, diags))
	}
	return g
}

// told writes changes as lines, in order.
func told(c *dag.Changes) []string {
	lines := []string{}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	attributes := func(of string, list []dag.Attribute) {
		for _, a := range list {
			switch {
			case a.Lines != nil:
				say("%s.%s: +%d -%d\n%s", of, a.Name, a.Lines.Added, a.Lines.Removed, a.Lines.Unified)
			case len(a.Paths) > 0:
				for _, p := range a.Paths {
					say("%s.%s %s: %s → %s", of, a.Name, p.Path, p.Old, p.New)
				}
			default:
				say("%s.%s: %s → %s", of, a.Name, a.Old, a.New)
			}
		}
	}
	blocks := func(kind string, list []dag.Change) {
		for _, ch := range list {
			if ch.How != dag.Changed {
				say("%s %s %s", kind, ch.Name, ch.How)
			}
			attributes(kind+" "+ch.Name, ch.Attributes)
		}
	}
	blocks("stage", c.Stages)
	for _, r := range c.Routes {
		say("route %s|%s|%s: %s → %s", r.Stage, r.On, r.When, r.Old, r.New)
	}
	blocks("code", c.Codes)
	blocks("check", c.Checks)
	attributes("gate", c.Gate)
	blocks("source", c.Sources)
	blocks("variable", c.Variables)
	blocks("mode", c.Modes)
	attributes("pipeline", c.Pipeline)
	blocks("plugin", c.Plugins)
	blocks("provider", c.Providers)
	blocks("invariant", c.Invariants)
	for _, s := range c.Rewritten {
		say("rewritten %s", s)
	}
	return lines
}

// diffEdits are edits of one attribute each, and all that is told of them.
var diffEdits = []struct {
	name  string
	dir   string // trivia where empty
	edits []swap
	want  []string
}{
	{name: "nothing", want: []string{}},
	{name: "pipeline name", edits: []swap{{old: `pipeline "quiz"`, new: `pipeline "test"`}}, want: []string{`pipeline.name: "quiz" → "test"`}},
	{name: "requires", edits: []swap{{old: `">= 0.1.0"`, new: `">= 0.0.9"`}}, want: []string{`pipeline.requires: ">= 0.1.0" → ">= 0.0.9"`}},
	{name: "replay", edits: []swap{{old: `  replay      = "cassette.jsonl"`, new: ``}, {old: `usd   = 2.5`, new: ``}}, want: []string{`pipeline.replay: "cassette.jsonl" → `, `pipeline.budget.usd: 2.5 → `}},
	{name: "a file of prices", edits: []swap{{old: `  replay      = `, new: "  prices = \"prices.json\"\n  replay = "}}, want: []string{`pipeline.prices:  → "prices.json"`}},
	{name: "price of what is kept", edits: []swap{{old: `output = 2`, new: "output = 2\n    cache_write = 0.5"}}, want: []string{`provider writer.price.cache_write: 0.25 → 0.5`}},
	{name: "what is kept is free", edits: []swap{{old: `output = 2`, new: "output = 2\n    cache_write = 0"}}, want: []string{`provider writer.price.cache_write: 0.25 → 0`}},
	{name: "budget", edits: []swap{{old: `calls = 5000`, new: `tokens = 7`}}, want: []string{`pipeline.budget.tokens:  → 7`, `pipeline.budget.calls: 5000 → `}},
	{name: "usd", edits: []swap{{old: `usd   = 2.5`, new: `usd   = 2`}}, want: []string{`pipeline.budget.usd: 2.5 → 2`}},
	{name: "description", edits: []swap{{old: `"Mine topics, write cards, try`, new: `"Try`}}, want: []string{
		`pipeline.description: "Mine topics, write cards, try to disprove them, repair once, accept." → "Try to disprove them, repair once, accept."`}},
	{name: "variable default, and what reads it", edits: []swap{{old: `default     = 1`, new: `default     = 2`}}, want: []string{
		`route verifier|repair|: stage.repairer at most 1×, then stop failed status "repair" → stage.repairer at most 2×, then stop failed status "repair"`,
		`variable repairs.value: 1 → 2`}},
	{name: "variable type", edits: []swap{{old: `type        = number`, new: `type        = any`}}, want: []string{`variable repairs.type: number → any`}},
	{name: "variable description", edits: []swap{{old: `"how often a card`, new: `"How often a card`}}, want: []string{
		`variable repairs.description: "how often a card may be repaired" → "How often a card may be repaired"`}},
	{name: "a plugin's source", edits: []swap{{old: `plugin "openai" { source = "builtin/openai" }`, new: "plugin \"openai\" {\n  source = \"builtin/anthropic\"\n  processes = 2\n}"}}, want: []string{
		`plugin openai.source: builtin/openai → builtin/anthropic`, `plugin openai.processes: 1 → 2`}},
	{name: "a plugin's environment and network", edits: []swap{{old: `plugin "openai" { source = "builtin/openai" }`, new: "plugin \"openai\" {\n  source = \"builtin/openai\"\n  env = [\"HOME\"]\n  network = true\n}"}}, want: []string{
		`plugin openai.env:  → ["HOME"]`, `plugin openai.network:  → true`}},
	{name: "model", edits: []swap{{old: `"model-w"`, new: `"model-x"`}}, want: []string{`provider writer.model: "model-w" → "model-x"`}},
	{name: "sampling", edits: []swap{{old: `temperature = 0.7`, new: `temperature = 0.9`}}, want: []string{`provider writer.config.temperature: 0.7 → 0.9`}},
	{name: "a nested member", edits: []swap{{old: `"x-team" = "quiz"`, new: `"x-team" = "test"`}}, want: []string{`provider writer.config.headers.x-team: "quiz" → "test"`}},
	{name: "a secret", edits: []swap{{old: `api_key     = env("WRITER_KEY")`, new: `api_key     = env("OTHER_KEY")`}}, want: []string{
		`provider writer.config.api_key: (sensitive) → (sensitive, another one)`}},
	{name: "none is not left out", edits: []swap{{old: `concurrency         = 8`, new: "concurrency         = 8\n    max_wait = \"0s\"\n    patience = \"0s\""}}, want: []string{
		`provider writer.limits.max_wait:  → 0s`, `provider writer.limits.patience:  → 0s`}},
	{name: "limits", edits: []swap{{old: `requests_per_minute = 500`, new: `tokens_per_minute = 9`}, {old: `concurrency         = 8`, new: `concurrency         = 9`}}, want: []string{
		`provider writer.limits.tokens_per_minute:  → 9`, `provider writer.limits.concurrency: 8 → 9`, `provider writer.limits.requests_per_minute: 500 → `}},
	{name: "price", edits: []swap{{old: `output = 2`, new: `output = 3`}}, want: []string{`provider writer.price.output: 2 → 3`}},
	{name: "files of a source", edits: []swap{{old: `["buckets.jsonl"]`, new: `["more.jsonl"]`}}, want: []string{`source buckets.files: ["buckets.jsonl"] → ["more.jsonl"]`}},
	{name: "format and limit", edits: []swap{{old: `  files  = ["buckets.jsonl"]`, new: "  files = [\"buckets.jsonl\"]\n  format = \"json\"\n  limit = 3"}}, want: []string{
		`source buckets.format:  → json`, `source buckets.limit:  → 3`}},
	{name: "key", edits: []swap{{old: `/${origin.batch}"`, new: `"`}}, want: []string{
		`source buckets.key: "${origin.cat}/${origin.diff}/${origin.batch}" → "${origin.cat}/${origin.diff}"`}},
	{name: "code of a source", edits: []swap{{old: "bucket.json\"\n  code   = failure.R_SCHEMA", new: "bucket.json\"\n  code   = failure.R_LENGTH"}}, want: []string{
		`source buckets.code: R_SCHEMA → R_LENGTH`}},
	{name: "schema of a source", edits: []swap{{file: "schemas/bucket.json", old: `["easy", "medium", "hard"]`, new: `["easy", "hard"]`}}, want: []string{
		`source buckets.schema /properties/diff/enum: ["easy","medium","hard"] → ["easy","hard"]`}},
	{name: "prompt", edits: []swap{{file: "prompts/topics.md", old: "Prompt: topics.\n", new: "Prompt: topics.\nThree.\n"}}, want: []string{
		"stage topic_miner.config.template: +1 -0\n@@ -1 +1 @@\n Prompt: topics.\n+Three.\n"}},
	{name: "config", edits: []swap{{old: `{ template = file("${local.prompts}/topics.md") }`, new: "{\n    template = file(\"${local.prompts}/topics.md\")\n    reasks = 1\n  }"}}, want: []string{
		`stage topic_miner.config.reasks: 2 → 1`}},
	{name: "retry", edits: []swap{{old: `attempts    = 4`, new: `attempts    = 2`}, {old: `"250ms"`, new: `"1s"`}, {old: `"10s"`, new: `"20s"`}}, want: []string{
		`stage topic_miner.retry.attempts: 4 → 2`, `stage topic_miner.retry.backoff: 250ms → 1s`, `stage topic_miner.retry.max_backoff: 10s → 20s`}},
	{name: "fan_out", edits: []swap{{old: `exactly = 5`, new: "min = 2\n    max = 5"}, {old: `key     = each.topic_id`, new: `key     = each.cat`}}, want: []string{
		`stage topic_miner.fan_out.key: each.topic_id → each.cat`, `stage topic_miner.fan_out.min: 5 → 2`}},
	{name: "fan_out code", edits: []swap{{old: "exactly = 5\n    code    = failure.R_SCHEMA", new: `exactly = 5`}}, want: []string{`stage topic_miner.fan_out.code: R_SCHEMA → `}},
	{name: "scheduling", edits: []swap{{old: `  input    = { card = item }`, new: "  input    = { card = item }\n  timeout = \"9s\"\n  concurrency = 3\n  max_age = \"0s\"\n  cache = true\n  volatile = [\"/at\"]\n"}}, want: []string{
		`stage verifier.timeout:  → 9s`, `stage verifier.concurrency:  → 3`, `stage verifier.max_age:  → 0s`, `stage verifier.cache:  → true`, `stage verifier.volatile:  → ["/at"]`}},
	{name: "batch, samples and rescue", edits: []swap{{old: `  input    = { card = item }`, new: "  input    = { card = item }\n  batch { size = 2 }\n  rescue = \"accept\"\n"}, {old: `hold        = stage.topic_miner`, new: ``}}, want: []string{
		`stage verifier.batch.size:  → 2`, `stage verifier.rescue:  → "accept"`, `gate.hold: stage.topic_miner → `}},
	{name: "input", edits: []swap{{old: `  input    = { card = item }`, new: "  input    = { card = item, origin = origin }"}}, want: []string{
		`stage verifier.input: { card = item } → { card = item, origin = origin }`}},
	{name: "outcome and outcomes", edits: []swap{{old: `["accept", "repair", "reject", "abstain"]`, new: `["accept", "repair", "reject", "abstain", "lost"]`}, {old: `  outcome  = output.status`, new: ``},
		{old: "  on \"abstain\" {", new: "  on \"lost\" { stop = \"failed\" }\n  on \"abstain\" {"}}, want: []string{
		`stage verifier.outcomes: ["accept", "repair", "reject", "abstain"] → ["accept", "repair", "reject", "abstain", "lost"]`,
		`stage verifier.outcome: output.status → `,
		`route verifier|lost|:  → stop failed`}},
	{name: "forward, mask and code", edits: []swap{{old: `setintersection(["q", "w", "x"], artifact.verifier.repair_fields)`, new: `["q"]`}, {old: `must_change = true`, new: `must_change = failure.R_LENGTH`},
		{old: "  code        = failure.R_SCHEMA\n", new: "  forward = output\n"}}, want: []string{
		`stage repairer.forward:  → output`,
		`stage repairer.may_change: setintersection(["q", "w", "x"], artifact.verifier.repair_fields) → ["q"]`,
		`stage repairer.must_change: true → R_LENGTH`, `stage repairer.code: R_SCHEMA → `}},
	{name: "independence", edits: []swap{{old: `independent_of = [stage.crafter, stage.media_crafter, stage.repairer]`, new: `independent_of = [stage.crafter]`}}, want: []string{
		`stage verifier.independent_of: [stage.crafter, stage.media_crafter, stage.repairer] → [stage.crafter]`}},
	{name: "provider of a stage", edits: []swap{{old: "input    = { card = item, report", new: "provider = provider.judge\n  input    = { card = item, report"}, {old: "stage \"repairer\" {\n  plugin   = plugin.prompt\n  provider = provider.writer", new: "stage \"repairer\" {\n  plugin   = plugin.prompt"},
		{old: "independent_of = [stage.crafter, stage.media_crafter, stage.repairer]", new: "independent_of = [stage.crafter, stage.media_crafter]"}}, want: []string{
		`stage verifier.independent_of: [stage.crafter, stage.media_crafter, stage.repairer] → [stage.crafter, stage.media_crafter]`,
		`stage repairer.provider: provider.writer → provider.judge`}},
	{name: "the values of a local, told resolved and by value", edits: []swap{{old: `["visual-arts", "music"]`, new: `["visual-arts", "history"]`}}, want: []string{
		`route topic_miner||item.cat is "history": stage.crafter → stage.media_crafter`,
		`route topic_miner||item.cat is "music": stage.media_crafter → stage.crafter`,
		`check assert #3.condition: ==(contains(["visual-arts","music"],origin.cat),!=(visit.media_crafter,null)) → ==(contains(["visual-arts","history"],origin.cat),!=(visit.media_crafter,null))`}},
	{name: "a condition written otherwise", edits: []swap{{old: `if = contains(local.with_media, item.cat)`, new: `if = item.cat == "music" || item.cat == "visual-arts"`}}, want: []string{`rewritten topic_miner`}},
	{name: "the way of an outcome", edits: []swap{{old: "  on \"reject\" {\n    stop   = \"rejected\"\n    status = \"reject\"", new: "  on \"reject\" {\n    to = gate.accept\n    as = \"review\"\n    code = failure.R_LENGTH"}}, want: []string{
		`route verifier|reject|: stop rejected status "reject" → gate as review with R_LENGTH`}},
	{name: "a fail arm", edits: []swap{{old: "  from = stage.repairer\n  to   = stage.verifier\n", new: "  from = stage.repairer\n  to   = stage.verifier\n  fail \"R_SCHEMA\" { stop = \"rejected\" }\n"}}, want: []string{
		`route repairer|fail R_SCHEMA|: stop failed → stop rejected`}},
	{name: "meaning, triage", edits: []swap{{old: `failure "R_SAME_SITE" { meaning = "The sources are one site." }`, new: "failure \"R_SAME_SITE\" {\n  meaning = \"One site.\"\n  triage = \"review\"\n}"}}, want: []string{
		`code R_SAME_SITE.meaning: "The sources are one site." → "One site."`, `code R_SAME_SITE.triage: reject → review`}},
	{name: "a code that is new", edits: []swap{{old: `failure "R_LENGTH"`, new: "failure \"R_OLD\" {\n  meaning = \"Old.\"\n  retired = true\n}\nfailure \"R_LENGTH\""}}, want: []string{
		`code R_OLD added`, `code R_OLD.meaning:  → "Old."`, `code R_OLD.retired:  → true`}},
	{name: "a check's arguments", edits: []swap{{old: `min_distance = 3`, new: `min_distance = 2`}}, want: []string{`check distinct.min_distance: 3 → 2`}},
	{name: "a check's triage", edits: []swap{{old: "    code = failure.R_LENGTH\n", new: "    code = failure.R_LENGTH\n    triage = \"review\"\n"}}, want: []string{`check words.triage: reject → review`}},
	{name: "a check's triage as the code has it", edits: []swap{{old: "    code = failure.R_LENGTH\n", new: "    code = failure.R_LENGTH\n    triage = \"reject\"\n"}}, want: []string{}},
	{name: "whether and when a check applies", edits: []swap{{old: "    code = failure.R_LENGTH\n", new: "    code = failure.R_LENGTH\n    ends = true\n    if = card.x != \"\"\n    message = \"m\"\n"}}, want: []string{
		`check words.if:  → card.x != ""`, `check words.ends: false → true`, `check words.message:  → "m"`}},
	{name: "a check among others of its name", edits: []swap{{old: `    condition = card.topic_id == topic.topic_id && card.cat`, new: `    condition = card.cat`}}, want: []string{
		`check assert #2.condition: card.topic_id == topic.topic_id && card.cat == origin.cat && card.diff == origin.diff → card.cat == origin.cat && card.diff == origin.diff`}},
	{name: "a check that is gone", edits: []swap{{old: "  check \"leak\" {\n    code     = failure.R_ANSWER_LEAK\n    needle   = card.a\n    haystack = card.q\n  }\n", new: ""}, {old: `failure "R_ANSWER_LEAK" { meaning = "The answer occurs in the question." }`, new: ""}}, want: []string{
		`code R_ANSWER_LEAK removed`, `check leak removed`}},
	{name: "the order of checks", edits: []swap{{old: "  check \"unique\" {\n    code = failure.R_DUPLICATE\n    keys = [fingerprint(card.q)]\n  }\n", new: ""},
		{old: `  corpus "jsonl" {`, new: "  check \"unique\" {\n    code = failure.R_DUPLICATE\n    keys = [fingerprint(card.q)]\n  }\n  corpus \"jsonl\" {"},
		{old: "  check \"leak\" {\n    code     = failure.R_ANSWER_LEAK\n    needle   = card.a\n    haystack = card.q\n  }\n", new: ""},
		{old: "  check \"distinct\" {", new: "  check \"leak\" {\n    code     = failure.R_ANSWER_LEAK\n    needle   = card.a\n    haystack = card.q\n  }\n  check \"distinct\" {"}}, want: []string{
		`gate.checks: schema, assert #1, assert #2, assert #3, fresh, independent, distinct, leak, words, sources, unrelated, unique → schema, assert #1, assert #2, assert #3, fresh, independent, leak, distinct, words, sources, unrelated, unique`}},
	{name: "bucket, hold and concurrency", edits: []swap{{old: `  bucket      = "${origin.cat}/${origin.diff}"`, new: `  bucket = origin.cat`}, {old: `hold        = stage.topic_miner`, new: `hold = stage.crafter`}, {old: `concurrency = 4`, new: ``}}, want: []string{
		`gate.bucket: "${origin.cat}/${origin.diff}" → origin.cat`, `gate.hold: stage.topic_miner → stage.crafter`, `gate.concurrency: 4 → `}},
	{name: "candidate", edits: []swap{{old: "    card   = item\n    topic", new: "    raw = item\n    card   = item\n    topic"}}, want: []string{`gate.candidate.raw:  → item`}},
	{name: "breaker", edits: []swap{{old: `consecutive = 20`, new: `consecutive = 5`}, {old: `["failed", "rejected"]`, new: `["failed"]`}}, want: []string{
		`gate.breaker.consecutive: 20 → 5`, `gate.breaker.counts: ["failed", "rejected"] → ["failed"]`}},
	{name: "corpus", edits: []swap{{old: `"data/${bucket}.jsonl"`, new: `"d/${bucket}.jsonl"`}, {old: `"meta/verification.jsonl"`, new: `"meta/v.jsonl"`}, {old: `diff = card.diff, topic_id = card.topic_id }`, new: `diff = card.diff }`}, {old: `      claim    = report.claim`, new: ``}}, want: []string{
		`gate.corpus.data: "data/${bucket}.jsonl" → "d/${bucket}.jsonl"`, `gate.corpus.evidence: "meta/verification.jsonl" → "meta/v.jsonl"`,
		`gate.corpus.record: { q = card.q, a = card.a, w = card.w, x = card.x, cat = card.cat, diff = card.diff, topic_id = card.topic_id } → { q = card.q, a = card.a, w = card.w, x = card.x, cat = card.cat, diff = card.diff }`,
		`gate.corpus.evidence_record: { topic_id = card.topic_id, claim = report.claim, sources = report.sources, domains = checks.unrelated, crafter = visit.crafter == null ? visit.media_crafter : visit.crafter, verifier = visit.verifier } → { topic_id = card.topic_id, sources = report.sources, domains = checks.unrelated, crafter = visit.crafter == null ? visit.media_crafter : visit.crafter, verifier = visit.verifier }`}},
	{name: "what else is of the gate", edits: []swap{{old: `  rejections = "meta/rejections.jsonl"`, new: "  undecided = \"parked\"\n  allow_hosts = [\"localhost\"]\n  same_owner = [[\"a.com\", \"b.com\"]]"}}, want: []string{
		`gate.undecided: review → parked`, `gate.allow_hosts:  → ["localhost"]`, `gate.same_owner.0:  → ["a.com", "b.com"]`, `gate.rejections: "meta/rejections.jsonl" → `}},
	{name: "a validation", edits: []swap{{old: `var.repairs <= 3`, new: `var.repairs <= 9`}, {old: `"0 to 3"`, new: `"0 to 9"`}}, want: []string{
		`variable repairs.validation.condition: var.repairs >= 0 && var.repairs <= 3 → var.repairs >= 0 && var.repairs <= 9`,
		`variable repairs.validation.message: "0 to 3" → "0 to 9"`}},
	{name: "a static invariant", edits: []swap{{old: `failure "R_LENGTH"`, new: "invariant \"few repairs\" { condition = var.repairs < 3 }\nfailure \"R_LENGTH\""}}, want: []string{
		`invariant few repairs added`, `invariant few repairs.condition:  → var.repairs < 3`}},
	{name: "an invariant", edits: []swap{{old: "from    = [stage.crafter, stage.media_crafter, stage.repairer]\n  to      = gate", new: "from    = [stage.crafter]\n  to      = gate"}}, want: []string{
		`invariant every card is verified after its last change.from: [stage.crafter, stage.media_crafter, stage.repairer] → [stage.crafter]`}},
	{name: "an invariant by another text", edits: []swap{{old: `invariant "every card`, new: `invariant "each card`}}, want: []string{
		`invariant each card is verified after its last change added`,
		`invariant each card is verified after its last change.from:  → [stage.crafter, stage.media_crafter, stage.repairer]`,
		`invariant each card is verified after its last change.through:  → stage.verifier`,
		`invariant every card is verified after its last change removed`}},

	{name: "names of blocks", edits: []swap{{old: `plugin "openai" {`, new: `plugin "oai" {`}, {old: `plugin = plugin.openai`, new: `plugin = plugin.oai`}, {old: `route "draft"`, new: `route "written"`}}, want: []string{}},

	{name: "a decide rule", dir: "ingest", edits: []swap{{old: `if      = off_topic >= local.t.relevance_quarantine`, new: `if      = off_topic > 0.5`}}, want: []string{
		`stage prefetch_band.decide.off_topic.if: off_topic >= local.t.relevance_quarantine → off_topic > 0.5`}},
	{name: "the order of rules", dir: "ingest", edits: []swap{{old: "    rule \"relevant\" {\n      if      = artifact.prefetch.p_kept >= local.t.relevance_fetch\n      outcome = \"fetch\"\n    }\n", new: ""},
		{old: "    rule \"off_topic\" {", new: "    rule \"relevant\" {\n      if      = artifact.prefetch.p_kept >= local.t.relevance_fetch\n      outcome = \"fetch\"\n    }\n    rule \"off_topic\" {"}}, want: []string{
		`stage prefetch_band.decide.order: undecided, off_topic, relevant → undecided, relevant, off_topic`}},
	{name: "a finding of a rule", dir: "ingest", edits: []swap{{old: "code   = failure.OFF_TOPIC\n      triage = \"review\"", new: "code   = failure.DUPLICATE\n      triage = \"quarantine\""}}, want: []string{
		`stage prefetch_band.decide.finding.off_topic.code: OFF_TOPIC → DUPLICATE`, `stage prefetch_band.decide.finding.off_topic.triage: review → quarantine`}},
	{name: "a mode", dir: "ingest", edits: []swap{{old: `mode "quality" { value = "apply" }`, new: `mode "quality" { value = "shadow" }`}}, want: []string{`mode quality.value: apply → shadow`}},
	{name: "a question", dir: "ingest", edits: []swap{{old: `expires  = "72h"`, new: `expires  = "24h"`}}, want: []string{
		`route refetch||else: ask at most 1× "Is ${item.title} an article?", resumes at stage.fetch or stage.refetch by answer.value == "again" ? stage.fetch : stage.refetch, then stop failed with GIVEN_UP, after 72h0m0s failed → ask at most 1× "Is ${item.title} an article?", resumes at stage.fetch or stage.refetch by answer.value == "again" ? stage.fetch : stage.refetch, then stop failed with GIVEN_UP, after 24h0m0s failed`}},
	{name: "a branch that cannot be listed", dir: "ingest", edits: []swap{{old: `if = runes(item.markdown) > 100`, new: `if = runes(item.markdown) > 200`}}, want: []string{
		`route refetch||runes(item.markdown) > 200:  → gate`, `route refetch||runes(item.markdown) > 100: gate → `}},
	{name: "review", dir: "ingest", edits: []swap{{old: `question = "Keep it?"`, new: `question = "Keep?"`}}, want: []string{`gate.review.question: "Keep it?" → "Keep?"`}},
}

// An edit of one attribute is told, and nothing else is.
func TestDiffTellsEachEdit(t *testing.T) {
	for _, c := range diffEdits {
		t.Run(c.name, func(t *testing.T) {
			dir := "testdata/trivia"
			if c.dir != "" {
				dir = "testdata/" + c.dir
			}
			was, is := loadFS(t, pipelineFS(t, dir)), loadFS(t, pipelineFS(t, dir, c.edits...))
			changes := dag.Diff(was, is)
			if diff := cmp.Diff(c.want, told(changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if changes.Empty() != (len(c.want) == 0 || strings.HasPrefix(c.want[0], "rewritten")) {
				t.Errorf("Empty is %v", changes.Empty())
			}
			if lines := told(dag.Diff(is, is)); len(lines) > 0 {
				t.Errorf("it differs from itself: %v", lines)
			}
			if back := dag.Diff(is, was); back.Empty() != changes.Empty() || len(told(back)) == 0 && len(c.want) > 0 {
				t.Errorf("the edit taken back: %v", told(back))
			}
			if len(c.want) == 0 && was.Digest() != is.Digest() {
				t.Error("the digest of the graph changes, and nothing is told")
			}
		})
	}
}

// topBlocks takes a file apart into its blocks.
func topBlocks(t testing.TB, src []byte) []string {
	t.Helper()
	f, diags := hclsyntax.ParseConfig(src, "pipeline.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var out []string
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		out = append(out, string(hcl.RangeBetween(b.TypeRange, b.CloseBraceRange).SliceBytes(src)))
	}
	return out
}

// Layout is no meaning: blocks in any order and in any file, comments, empty
// lines, other names of locals and of a file with a prompt.
func TestDiffTellsNothingOfLayout(t *testing.T) {
	base := pipelineFS(t, "testdata/trivia")
	was := loadFS(t, base)
	blocks := topBlocks(t, base["pipeline.hcl"].Data)
	rapid.Check(t, func(rt *rapid.T) {
		fsys := fstest.MapFS{}
		for name, file := range base {
			fsys[name] = file
		}
		files := map[string]*strings.Builder{"pipeline.hcl": {}, "more.pipeline.hcl": {}}
		for i, block := range rapid.Permutation(blocks).Draw(rt, "order") {
			name := "pipeline.hcl"
			if rapid.Bool().Draw(rt, fmt.Sprint("elsewhere ", i)) {
				name = "more.pipeline.hcl"
			}
			switch rapid.IntRange(0, 2).Draw(rt, fmt.Sprint("comment ", i)) {
			case 1:
				files[name].WriteString("# why\n\n")
			case 2:
				block = strings.Replace(block, "{\n", "{ // how\n\n  /* so */\n", 1)
			}
			files[name].WriteString(block + "\n")
		}
		rename := strings.NewReplacer()
		if rapid.Bool().Draw(rt, "renamed") {
			rename = strings.NewReplacer("local.with_media", "local.media", "with_media = [", "media = [", "local.prompts}/card.md", "local.prompts}/other.md")
			fsys["prompts/other.md"] = fsys["prompts/card.md"]
		}
		for name, text := range files {
			fsys[name] = &fstest.MapFile{Data: []byte(rename.Replace(text.String()))}
		}
		if lines := told(dag.Diff(was, loadFS(t, fsys))); len(lines) > 0 {
			rt.Errorf("told: %v", lines)
		}
	})
}
