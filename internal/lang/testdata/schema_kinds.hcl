#! without stages
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("prompts/write.md") }
  output { schema = { type = "object" } }
}

stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item }
  config { template = file("prompts/judge.md") }
  output { schema = "schemas" }
  outcomes = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
