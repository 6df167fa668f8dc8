#! without stages
stage "write" {
  plugin    = plugin.prompt
  provider  = provider.writer
  config    = { template = "x" }
  forwards  = item
  timeout   = "20"
  samples   = 0
  concurrency = "4"
  retry { attempts = 0 }
  output { schema = "schemas/card.json" }
}
stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("prompts/judge.md") }
  input { card = item }
  outcomes = ["accept", "reject", "accept"]
}
