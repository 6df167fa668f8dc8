#! var key=k
#! without stages
variable "key" { sensitive = true }
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  input    = { topic = item, key = var.key }
  config { template = file("prompts/wrte.md") }
  output { schema = "schemas/card.json" }
  timeout = var.key
}
stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcomes = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
