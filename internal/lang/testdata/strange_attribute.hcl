#! without routes stages
route "written" {
  from = stage.write
  towards = stage.judge
}

route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  settings { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
}

stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item }
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcome_list = ["accept", "reject"]
  outcome  = output.status
  forward  = item
}
