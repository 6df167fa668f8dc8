#! without stages gate codes
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("prompts/write.md") }
}
stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("prompts/judge.md") }
  outcomes = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
gate "accept" {
  candidate = { card = item, report = artifact.judge }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data   = "data/${card.cat}.jsonl"
    id     = report.id
    record = card
  }
}
