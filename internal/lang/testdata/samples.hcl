#! without stages routes
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
}

# Each sample has its word, the visit needs one.
stage "votes" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  samples    = 3
  outcomes   = ["accept", "reject"]
  may_change = ["q"]
}

# The output is the list of all samples, typed by the schema of one.
stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  samples  = 3
  outcomes = ["accept", "reject"]
  outcome  = length([for o in output : o if o.status == "acept"]) > 1 ? "accept" : output.status
  forward  = item
}
route "written" {
  from = stage.write
  to   = stage.votes
}
route "voted" {
  from = stage.votes
  on "accept" { to = stage.judge }
  on "reject" { stop = "rejected" }
}
route "judged" {
  from = stage.judge
  when {
    if = output[0].sure && output[1].shure
    to = gate.accept
  }
  else { stop = "rejected" }
}
