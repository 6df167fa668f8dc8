#! without routes
route "written" {
  from = stage.write
  mode = mode.qualty
  to   = stage.judge
  shadow { stop = "failed" }
}

route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
