# A first pipeline: write a note on each topic, judge it, keep what is good.
# It runs offline. Do `penstock run`, then edit anything here and do `penstock plan`.

pipeline "notes" { description = "Write a note on each topic, judge it, keep the good ones." }

plugin "prompt" { source = "builtin/prompt" } # asks a model until its answer fits the schema
plugin "echo" { source = "builtin/echo" }     # no model: makes up text of the right shape

provider "model" { # for a real one name plugin "builtin/openai", a model and its key here
  plugin = plugin.echo
  model  = "echo"
}

source "topics" {
  files  = ["topics.jsonl"] # each line is an item
  key    = origin.topic
  schema = "schemas/topic.json"
}

stage "writer" { # each stage runs in a process of its own and cannot write files
  plugin   = plugin.prompt
  provider = provider.model
  config {
    template = file("prompts/writer.md")
    data     = true # the item never stands among the instructions
  }
  output { schema = "schemas/note.json" }
}

route "written" {
  from = stage.writer
  to   = stage.judge
}

stage "judge" {
  plugin   = plugin.prompt
  provider = provider.model
  config {
    template = file("prompts/judge.md")
    data     = true
  }
  output { schema = "schemas/verdict.json" }
  outcomes = ["keep", "drop"]
  outcome  = output.verdict
  forward  = item # the note travels on; the verdict stays beside it
}

route "judged" {
  from = stage.judge
  on "keep" { to = gate.keep }
  on "drop" { stop = "rejected" }
}

failure "TOO_LONG" { meaning = "The note is empty or has more than 60 words." }
failure "DUPLICATE" { meaning = "There is a note with this title already." }

gate "keep" { # the only code that writes data/ and meta/
  candidate = { note = item, verdict = artifact.judge }
  check "words" {
    code = failure.TOO_LONG
    text = note.text
    min  = 1
    max  = 60
  }
  check "unique" {
    code = failure.DUPLICATE
    keys = [fingerprint(note.title)]
  }
  corpus "jsonl" {
    data            = "data/notes.jsonl"
    evidence        = "meta/evidence.jsonl"
    record          = { title = note.title, text = note.text }
    evidence_record = { reason = verdict.reason, writer = visit.writer, judge = visit.judge }
  }
}
