#! without stages
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
  outcome = output.cat
}
stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcomes = ["accept", "reject"]
  outcome  = output.staus
  forward  = item
}
