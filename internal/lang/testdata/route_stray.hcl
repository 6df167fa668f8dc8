#! without routes
route "written" {
  from = stage.write
  to   = stage.judge
  else { stop = "failed" }
}
route "judged" {
  from = stage.judge
  code = failure.R_SCHEMA
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
  exhausted { stop = "failed" }
}
