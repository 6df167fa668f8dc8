pipeline "quiz" {
  description = "Mine topics, write cards, try to disprove them, repair once, accept."
  requires    = ">= 0.1.0"
  replay      = "cassette.jsonl"
  budget {
    calls = 5000
    usd   = 2.5
  }
}

variable "repairs" {
  type        = number
  default     = 1
  description = "how often a card may be repaired"
  validation {
    condition = var.repairs >= 0 && var.repairs <= 3
    message   = "0 to 3"
  }
}

locals {
  with_media = ["visual-arts", "music"]
  prompts    = "prompts"
  schemas    = "schemas"
}

plugin "prompt" { source = "builtin/prompt" }
plugin "openai" { source = "builtin/openai" }
plugin "anthropic" { source = "builtin/anthropic" }

provider "writer" {
  plugin = plugin.openai
  model  = "model-w"
  config {
    api_key     = env("WRITER_KEY")
    temperature = 0.7
    headers     = { "x-team" = "quiz", authorization = "Bearer ${env("WRITER_KEY")}" }
  }
  limits {
    requests_per_minute = 500
    concurrency         = 8
  }
  price {
    input  = 0.25
    output = 2
  }
}

provider "judge" {
  plugin = plugin.anthropic
  model  = "model-j"
  config { api_key = env("JUDGE_KEY") }
}

source "buckets" {
  files  = ["buckets.jsonl"]
  key    = "${origin.cat}/${origin.diff}/${origin.batch}"
  schema = "${local.schemas}/bucket.json"
  code   = failure.R_SCHEMA
}

stage "topic_miner" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("${local.prompts}/topics.md") }
  output { schema = "${local.schemas}/topics.json" }
  code = failure.R_SCHEMA
  retry {
    attempts    = 4
    backoff     = "250ms"
    max_backoff = "10s"
  }

  fan_out {
    each    = output.topics
    key     = each.topic_id
    exactly = 5
    code    = failure.R_SCHEMA
  }
}

route "category" {
  from = stage.topic_miner
  when {
    if = contains(local.with_media, item.cat)
    to = stage.media_crafter
  }
  else { to = stage.crafter }
}

stage "crafter" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("${local.prompts}/card.md") }
  output { schema = "${local.schemas}/card.json" }
}

stage "media_crafter" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("${local.prompts}/card.md") }
  output { schema = "${local.schemas}/card.json" }
}

route "draft" {
  from = [stage.crafter, stage.media_crafter]
  to   = stage.verifier
}

stage "verifier" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item }
  config { template = file("${local.prompts}/verify.md") }
  output { schema = "${local.schemas}/report.json" }

  independent_of = [stage.crafter, stage.media_crafter, stage.repairer]

  outcomes = ["accept", "repair", "reject", "abstain"]
  outcome  = output.status
  forward  = item
}

route "verdict" {
  from = stage.verifier
  on "accept" { to = gate.accept }
  on "repair" {
    to  = stage.repairer
    max = var.repairs
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
  config { template = file("${local.prompts}/repair.md") }
  output { schema = "${local.schemas}/card.json" }
  may_change  = setintersection(["q", "w", "x"], artifact.verifier.repair_fields)
  must_change = true
  code        = failure.R_SCHEMA
}

route "repaired" {
  from = stage.repairer
  to   = stage.verifier
}

invariant "every card is verified after its last change" {
  from    = [stage.crafter, stage.media_crafter, stage.repairer]
  to      = gate.accept
  through = stage.verifier
}

failure "R_SCHEMA" { meaning = "Malformed or incomplete data." }
failure "R_CHOICES" { meaning = "The four choices are not distinct." }
failure "R_ANSWER_LEAK" { meaning = "The answer occurs in the question." }
failure "R_LENGTH" { meaning = "The explainer is empty or too long." }
failure "R_UNPROVABLE" { meaning = "Fewer than two usable sources." }
failure "R_SAME_SITE" { meaning = "The sources are one site." }
failure "R_DUPLICATE" { meaning = "The question was accepted already." }

gate "accept" {
  bucket      = "${origin.cat}/${origin.diff}"
  hold        = stage.topic_miner
  concurrency = 4

  candidate = {
    card   = item
    topic  = artifact.topic_miner
    report = artifact.verifier
  }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "${local.schemas}/card.json"
  }
  check "assert" {
    code      = failure.R_SCHEMA
    ends      = true
    condition = report.status == "accept" && report.unique_answer && !report.disproof.found
    message   = "the report is not a clean accept"
  }
  check "assert" {
    code      = failure.R_SCHEMA
    ends      = true
    condition = card.topic_id == topic.topic_id && card.cat == origin.cat && card.diff == origin.diff
  }
  check "assert" {
    code      = failure.R_SCHEMA
    ends      = true
    condition = contains(local.with_media, origin.cat) == (visit.media_crafter != null)
  }
  check "fresh" {
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
    of    = [stage.crafter, stage.media_crafter, stage.repairer]
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
    code = failure.R_LENGTH
    text = card.x
    min  = 1
    max  = 20
  }
  check "sources" {
    code     = failure.R_UNPROVABLE
    sources  = report.sources
    supports = ["claim", "answer"]
    min      = 2
  }
  check "unrelated" {
    code = failure.R_SAME_SITE
    urls = report.sources[*].url
  }
  check "unique" {
    code = failure.R_DUPLICATE
    keys = [fingerprint(card.q)]
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
      domains  = checks.unrelated
      crafter  = visit.crafter == null ? visit.media_crafter : visit.crafter
      verifier = visit.verifier
    }
  }
  rejections = "meta/rejections.jsonl"

  breaker {
    consecutive = 20
    counts      = ["failed", "rejected"]
  }
}
