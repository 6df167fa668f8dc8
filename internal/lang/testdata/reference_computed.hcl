#! without routes
route "written" {
  from = stage.write
  to   = lower(stage.judge)
}

route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
