#! without routes
route "written" {
  from = stage.write
  let {
    easy = origin.level == "easy"
    item = 1
  }
  when {
    if = easy
    to = stage.judge
  }
  else { stop = "rejected" }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
