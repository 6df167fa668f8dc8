#! without routes gate stages
route "written" {
  from = stage.write
  to   = stage.judge
}

route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" {
    ask {
      question = "Is it right?"
      resume   = stage.write
      max      = 1
    }
  }
}
gate "accept" {
  hold      = stage.write
  bucket    = origin.cat
  candidate = { card = item, report = artifact.judge }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.x
    max  = 20
  }
  corpus "jsonl" {
    data     = "data/${bucket}.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
}

stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  batch { size = 5 }
  input    = { card = item }
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcomes = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
