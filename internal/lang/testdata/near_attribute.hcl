#! without routes
route "written" {
  form = stage.write
  too  = stage.judge
}

route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
