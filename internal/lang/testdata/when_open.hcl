#! without routes
route "written" {
  from = stage.write
  when {
    if = origin.level == "easy"
    to = stage.judge
  }
  when {
    if = origin.level == "hard"
    stop = "rejected"
  }
}
route "judged" {
  from = stage.judge
  when {
    if = output.status == "accept"
    to = gate.accept
  }
  when {
    if = output.status == "accept" || output.status == "reject"
    stop = "rejected"
  }
  else { stop = "failed" }
}
