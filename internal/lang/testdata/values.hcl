#! without stages gate codes
stage "write" {
  plugin      = plugin.prompt
  timeout     = 30
  cache       = "true"
  concurrency = 1 / 0
  samples     = null
  provider = provider.writer
  config { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
}

stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item }
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcomes = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
gate "accept" {
  bucket    = origin.cat
  undecided = true
  hold      = null
  candidate = { card = item, report = artifact.judge }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.x
    max  = "20"
  }
  corpus "jsonl" {
    data     = "/data/${bucket}.jsonl"
    evidence = "meta/"
    record   = card
  }
}
failure "R_SCHEMA" {
  meaning = 5
}
failure "R_LENGTH" {
  meaning = "x"
  retired = "no"
}
