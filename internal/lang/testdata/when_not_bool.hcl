#! without routes
route "written" {
  from = stage.write
  to   = stage.judge
}
route "judged" {
  from = stage.judge
  when {
    if = output.status
    to = gate.accept
  }
  else { stop = "rejected" }
}
