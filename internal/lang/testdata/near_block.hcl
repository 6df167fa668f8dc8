#! without stages
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  configs { template = file("prompts/write.md") }
  outputs { schema = "schemas/card.json" }
}

stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item }
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcome_s = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
