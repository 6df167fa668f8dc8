#! without routes
route "written" {
  from = stage.write
  stop = "rejected"
}
route "judged" {
  from = stage.judge
}
route "both" {
  from = stage.judge
  to   = stage.write
  on "accept" { to = gate.accept }
}
