#! without routes
route "written" {
  from = stage.write
  to   = stage.judge
}
route "judged" {
  from = stage.judge
  when {
    if = output.sure
    to = gate.accept
  }
  when {
    if = output.sure && output.status == "accept"
    to = gate.accept
  }
  when {
    if   = !output.sure
    stop = "rejected"
  }
}
