#! without routes
route "written" {
  from = stage.write
  when {
    if = item.ct == "history" && origin.level == "easy"
    to = stage.judge
  }
  else { stop = "rejected" }
}
route "judged" {
  from = stage.judge
  when {
    if = output.sure && artifact.judg.sure
    to = gate.accept
  }
  else { stop = "rejected" }
}
