# The trivia-card pipeline, and the language by example: agents propose topics, write cards, try to
# disprove them and mend them once; the gate, built into the engine, decides what enters data/.
# In a fresh checkout `penstock run` replays it from a cassette, with no network and no key.

pipeline "trivia-cards" {
  description = "Mine topics, write cards, try to disprove them, repair once, accept."
  requires    = ">= 0.1.0"
  replay      = "examples/trivia-cards/cassette.jsonl" # `penstock run --live` calls the providers and reads the web instead
}

locals {
  mme      = ["visual-arts", "music", "film-tv", "sports-games"]
  prompts  = "examples/trivia-cards/prompts"
  schemas  = "examples/trivia-cards/schemas"
  unstable = jsondecode(file("examples/trivia-cards/unstable-language.json"))
}

plugin "prompt" { source = "builtin/prompt" }
plugin "openai" { source = "builtin/openai" }
plugin "anthropic" { source = "builtin/anthropic" }

# Swapping the model that writes is a change in this block and nowhere else.
provider "writer" {
  plugin = plugin.openai
  model  = "gpt-5-mini"
  config { api_key = env("OPENAI_API_KEY") }
  limits {
    requests_per_minute = 500
    concurrency         = 8
  }
}

provider "judge" {
  plugin = plugin.anthropic
  model  = "claude-sonnet-5"
  config { api_key = env("ANTHROPIC_API_KEY") }
}

source "buckets" {
  files  = ["examples/trivia-cards/buckets.jsonl"] # {"cat": "history", "diff": "easy", "batch": 1} a line
  key    = "${origin.cat}/${origin.diff}/${origin.batch}"
  schema = "${local.schemas}/bucket.json"
  code   = failure.R_SCHEMA
}

stage "topic_miner" {
  plugin   = plugin.prompt
  provider = provider.writer
  config {
    template = file("${local.prompts}/topic-miner.md")
    data     = true # what was mined or written never stands among the instructions: docs/prompts.md
  }
  output { schema = "${local.schemas}/topics.json" }
  code = failure.R_SCHEMA

  fan_out {
    each    = output.topics
    key     = "t-${substr(sha256("${each.cat}\n${normalize(each.title)}"), 0, 12)}" # two spellings of a title are one topic
    exactly = 5
    code    = failure.R_SCHEMA
  }
}

route "category" {
  from = stage.topic_miner
  when {
    if = contains(local.mme, item.cat)
    to = stage.mme_crafter
  }
  else { to = stage.crafter }
}

stage "crafter" {
  plugin   = plugin.prompt
  provider = provider.writer
  let { topic_id = "t-${substr(sha256("${item.cat}\n${normalize(item.title)}"), 0, 12)}" }
  input = { topic_id = topic_id, cat = item.cat, diff = item.diff, title = item.title, angle = item.angle }
  config {
    template = file("${local.prompts}/crafter.md")
    data     = true
  }
  output { schema = "${local.schemas}/card.json" }
  code = failure.R_SCHEMA
}

stage "mme_crafter" {
  plugin   = plugin.prompt
  provider = provider.writer
  let { topic_id = "t-${substr(sha256("${item.cat}\n${normalize(item.title)}"), 0, 12)}" }
  input = { topic_id = topic_id, cat = item.cat, diff = item.diff, title = item.title, angle = item.angle }
  config {
    template = file("${local.prompts}/mme-crafter.md")
    data     = true
  }
  output { schema = "${local.schemas}/card.json" }
  code = failure.R_SCHEMA
}

route "draft" {
  from = [stage.crafter, stage.mme_crafter]
  to   = stage.verifier
}

stage "verifier" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item }
  config {
    template = file("${local.prompts}/verifier.md")
    data     = true
  }
  output { schema = "${local.schemas}/report.json" }

  independent_of = [stage.crafter, stage.mme_crafter, stage.repairer]

  outcomes = ["accept", "repair", "reject", "abstain"]
  outcome  = output.status
  code     = failure.R_SCHEMA
  forward  = item # the card travels on; the report stays beside it as artifact.verifier
}

route "verdict" {
  from = stage.verifier
  on "accept" { to = gate.accept }
  on "repair" {
    to  = stage.repairer
    max = 1 # one pass
    exhausted {
      stop   = "failed"
      status = "repair"
    }
  }
  on "reject" {
    stop   = "rejected"
    status = "reject"
  }
  on "abstain" {
    stop   = "rejected"
    status = "abstain"
  }
}

stage "repairer" {
  plugin   = plugin.prompt
  provider = provider.writer
  input    = { card = item, report = artifact.verifier }
  config {
    template = file("${local.prompts}/repairer.md")
    data     = true
  }
  output { schema = "${local.schemas}/card.json" }
  may_change  = setintersection(["q", "w", "x"], artifact.verifier.repair_fields)
  must_change = true
  code        = failure.R_SCHEMA
}

route "repaired" {
  from = stage.repairer
  to   = stage.verifier
}

# Proved over the graph at validate time: no edit of the routes can get round the verifier.
invariant "every card is verified after its last change" {
  from    = [stage.crafter, stage.mme_crafter, stage.repairer]
  to      = gate.accept
  through = stage.verifier
}

failure "R_SCHEMA" { meaning = "Malformed or incomplete data, invalid run metadata, a mismatched topic or bucket, an invalid identity, or a report that is not an accept." }
failure "R_CHOICES" { meaning = "The four choices are not distinct, or a normalized pair is within Levenshtein distance 2." }
failure "R_ANSWER_LEAK" { meaning = "The normalized answer occurs in the normalized question." }
failure "R_EXPLAINER_LENGTH" { meaning = "The explainer is empty or longer than 20 words." }
failure "R_UNSTABLE" { meaning = "The question or explainer uses rejected time-sensitive language." }
failure "R_UNPROVABLE" { meaning = "Fewer than two usable sources, or a source without a URL." }
failure "R_SRC_LAUNDER" { meaning = "The two evidence sources resolve to the same normalized domain." }
failure "R_SRC_DEAD" { meaning = "An evidence URL fails its live HTTP check." }
failure "R_DUP_EXACT" { meaning = "The normalized question's fingerprint duplicates an accepted card." }
failure "R_DUP_NEAR" { meaning = "A same-category question reaches Jaccard similarity 0.85 or higher against an accepted question." }

gate "accept" {
  bucket      = "${origin.cat}/${origin.diff}"
  hold        = stage.topic_miner # one candidate at a time in a bucket, so that "consecutive" means something
  concurrency = 4                 # buckets at a time

  candidate = {
    card   = item
    topic  = artifact.topic_miner
    report = artifact.verifier
  }
  let { topic_id = "t-${substr(sha256("${topic.cat}\n${normalize(topic.title)}"), 0, 12)}" }

  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "${local.schemas}/card.json"
  }
  check "assert" {
    code      = failure.R_SCHEMA
    ends      = true
    condition = report.status == "accept" && length(report.codes) == 0 && report.unique_answer && !report.disproof.found
    message   = "the report is not a clean accept"
  }
  check "assert" {
    code      = failure.R_SCHEMA
    ends      = true
    condition = card.topic_id == topic_id && (topic.topic_id == null || topic.topic_id == topic_id)
    message   = "the card is not about its topic"
  }
  check "assert" {
    code      = failure.R_SCHEMA
    ends      = true
    condition = card.cat == origin.cat && card.diff == origin.diff && topic.cat == origin.cat && topic.diff == origin.diff
    message   = "the card or its topic belongs to another bucket"
  }
  check "assert" {
    code      = failure.R_SCHEMA
    ends      = true
    condition = contains(local.mme, origin.cat) == (visit.mme_crafter != null) && contains(local.mme, origin.cat) == (visit.crafter == null)
    message   = "the card was not written by the crafter that its category routes to"
  }
  check "fresh" { # the report was made from exactly this card
    code  = failure.R_SCHEMA
    ends  = true
    stage = stage.verifier
    of    = card
    at    = "card"
  }
  check "independent" {
    code  = failure.R_SCHEMA
    ends  = true
    stage = stage.verifier
    of    = [stage.crafter, stage.mme_crafter, stage.repairer]
  }
  check "distinct" {
    code         = failure.R_CHOICES
    values       = concat([card.a], card.w)
    count        = 4
    min_distance = 3
  }
  check "leak" {
    code     = failure.R_ANSWER_LEAK
    needle   = card.a
    haystack = card.q
  }
  check "words" {
    code = failure.R_EXPLAINER_LENGTH
    text = card.x
    min  = 1
    max  = 20
  }
  check "phrases" {
    code   = failure.R_UNSTABLE
    texts  = [card.q, card.x]
    reject = local.unstable
  }
  check "sources" {
    code     = failure.R_UNPROVABLE
    sources  = report.sources
    supports = ["claim", "answer"]
    min      = 2
  }
  check "unrelated" {
    code = failure.R_SRC_LAUNDER
    urls = report.sources[*].url
  }
  check "live" {
    code    = failure.R_SRC_DEAD
    urls    = report.sources[*].url
    timeout = "20s"
  }
  check "unique" {
    code = failure.R_DUP_EXACT
    keys = [fingerprint(card.q)]
  }
  check "novel" {
    code           = failure.R_DUP_NEAR
    text           = card.q
    within         = card.cat
    max_similarity = 0.85
  }

  corpus "jsonl" {
    data     = "data/${bucket}.jsonl"
    evidence = "meta/verification.jsonl"
    id       = "${origin.cat}-${origin.diff}-${substr(fingerprint(card.q), 0, 12)}"
    record   = { q = card.q, a = card.a, w = card.w, x = card.x, cat = card.cat, diff = card.diff, topic_id = card.topic_id }
    evidence_record = {
      topic_id = card.topic_id
      claim    = report.claim
      sources  = report.sources
      pages    = checks.live.pages
      crafter  = visit.crafter == null ? visit.mme_crafter : visit.crafter
      verifier = visit.verifier
    }
  }
  rejections = "meta/rejections.jsonl"

  breaker {
    consecutive = 20
    counts      = ["failed", "rejected"]
  }
}
