#! without routes
route "written" {
  from = stage.write
  to   = stage.judge
}
route "judged" {
  from = stage.judge
  else { stop = "rejected" }
  when {
    if = output.sure
    to = gate.accept
  }
}
