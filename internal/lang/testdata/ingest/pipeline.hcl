pipeline "ingest" {}

locals {
  topic = jsondecode(file("topic.json"))
  t     = local.topic.decisions.thresholds
}

variable "write_retry_max" { default = 1 }

mode "quality" { value = "apply" }
mode "relevance" {
  value = (local.topic.contract.accepted && local.topic.decisions.relevance == "on" && requested != "shadow" &&
    (requested == "apply" || local.topic.decisions.gates == "apply" ||
  labels(gate.topic, "relevance", { contract = digest(local.topic.contract), model = "judge" }) >= 30)) ? "apply" : "shadow"
}

plugin "prompt" { source = "builtin/prompt" }
plugin "openai" { source = "builtin/openai" }
plugin "dedupe" { source = "builtin/dedupe" }
plugin "fetch" { source = "builtin/fetch" }

provider "judge" {
  plugin = plugin.openai
  model  = "model-j"
}

source "list" {
  files  = ["sources.jsonl"]
  key    = url_key(origin.url)
  schema = "schemas/source.json"
}

stage "dedupe" {
  plugin = plugin.dedupe
  reads  = gate.topic
  config { keys = ["platform_id", "url"] }
  output { schema = "schemas/match.json" }
  outcomes = ["new", "duplicate"]
  outcome  = output.match == null ? "new" : "duplicate"
  forward  = item
}

route "dedupe" {
  from = stage.dedupe
  on "duplicate" {
    to   = gate.topic
    as   = "skip"
    code = failure.DUPLICATE
    mode = mode.quality
    shadow { to = stage.prefetch }
    finding {
      code     = failure.DUPLICATE
      triage   = "skip"
      evidence = "seen before"
    }
  }
  on "new" {
    when {
      if = glob_match(local.topic.decisions.exclude, item.path) || contains(["off"], local.topic.decisions.relevance)
      to = stage.fetch
    }
    else { to = stage.prefetch }
  }
}

stage "prefetch" {
  plugin   = plugin.prompt
  provider = provider.judge
  batch { size = 20 }
  config { template = file("prompts/prefetch.md") }
  output { schema = "schemas/judgment.json" }
  forward = item
}

route "prefetch" {
  from = stage.prefetch
  to   = stage.prefetch_band
  fail { to = stage.fetch }
}

stage "prefetch_band" {
  let { off_topic = artifact.prefetch.role.probs.off_topic }
  decide {
    rule "undecided" {
      if      = get(artifact.prefetch, "role.status", "undecided") != "decided"
      outcome = "fetch"
    }
    rule "off_topic" {
      if      = off_topic >= local.t.relevance_quarantine
      outcome = "skip"
    }
    rule "relevant" {
      if      = artifact.prefetch.p_kept >= local.t.relevance_fetch
      outcome = "fetch"
    }
    else { outcome = "review" }

    finding "off_topic" {
      if     = outcome == "review"
      code   = failure.OFF_TOPIC
      triage = "review"
      figure = off_topic
      mode   = mode.relevance
    }
  }
  outcomes = ["fetch", "review", "skip"]
  forward  = item
}

route "prefetch_band" {
  from = stage.prefetch_band
  on "fetch" { to = stage.fetch }
  on "review" { to = stage.fetch }
  on "skip" {
    to   = gate.topic
    as   = "skip"
    code = failure.OFF_TOPIC
  }
}

stage "fetch" {
  plugin  = plugin.fetch
  max_age = "24h"
  output { schema = "schemas/page.json" }
}

route "fetch" {
  from = stage.fetch
  to   = stage.refetch
}

stage "refetch" {
  plugin  = plugin.fetch
  max_age = "0s"
  output { schema = "schemas/page.json" }
  forward = runes(output.markdown) > runes(item.markdown) ? output : item
}

route "refetch" {
  from = stage.refetch
  when {
    if = runes(item.markdown) > 100
    to = gate.topic
  }
  else {
    ask {
      question = "Is ${item.title} an article?"
      resume   = answer.value == "again" ? stage.fetch : stage.refetch
      max      = clamp(var.write_retry_max, 0, 3)
      expires  = "72h"
      exhausted {
        stop = "failed"
        code = failure.GIVEN_UP
      }
    }
  }
}

failure "DUPLICATE" {
  meaning = "The source is in the corpus already."
  triage  = "skip"
}
failure "OFF_TOPIC" { meaning = "The source is not about the topic." }
failure "GIVEN_UP" { meaning = "Nobody could tell." }

gate "topic" {
  candidate = { page = item, match = artifact.dedupe }
  check "assert" {
    code      = failure.GIVEN_UP
    condition = page.title != ""
  }
  corpus "markdown" {
    path            = "sources/${page.title}.md"
    body            = page.markdown
    front_matter    = { title = page.title, url = origin.url }
    quarantine_path = "quarantine/${page.title}.md"
  }
  review {
    subject  = page.title
    question = "Keep it?"
    purpose  = "relevance"
  }
  skipped {
    codes = [failure.DUPLICATE, failure.OFF_TOPIC]
    row   = { url = origin.url }
  }
  allow_hosts = ["localhost"]
  same_owner  = [["example.com", "example.org"]]
}
