#! without stages routes
stage "write" {
  plugin   = plugin.prompt
  provider = provider.writer
  config { template = file("prompts/write.md") }
  output { schema = "schemas/card.json" }
}

# Rules without an output let the item pass as it is: it keeps its type.
stage "sort" {
  decide {
    rule "music" {
      if      = item.cat == "music"
      outcome = "left"
    }
    else { outcome = "right" }
  }
  outcomes = ["left", "right"]
}
stage "judge" {
  plugin   = plugin.prompt
  provider = provider.judge
  input    = { card = item, kind = artifact.sort.catt }
  config { template = file("prompts/judge.md") }
  output { schema = "schemas/report.json" }
  outcomes = ["accept", "rejected"]
  outcome  = output.status
  forward  = { card = output, sure = output.shure }
}
route "written" {
  from = stage.write
  to   = stage.sort
}
route "sorted" {
  from = stage.sort
  on "left" { to = stage.judge }
  on "right" {
    when {
      if = output.catt == "x"
      to = stage.judge
    }
    else { to = stage.judge }
  }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "rejected" { stop = "rejected" }
}
