#! without stages
stages "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
}

stag "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item }
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcomes = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
