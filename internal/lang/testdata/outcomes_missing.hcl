#! without stages
stage "write" {
  plugin   = plugin.prompt
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
  outcomes = null
  outcome  = output.status
  forward  = item
}
