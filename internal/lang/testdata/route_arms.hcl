#! without routes
route "written" {
  from = stage.write
  to   = stage.judge
  as   = "skip"
  exhausted { stop = "failed" }
  fail "R_SCHEM" { stop = "failed" }
  fail "E_TIMEOUT" { stop = "failed" }
  fail { stop = "failed" }
  fail "E_OUTPUT" { stop = "rejected" }
}
route "judged" {
  from = stage.judge
  on "accept" {
    to   = gate.accept
    max  = 3
    code = failure.R_SCHEMA
  }
  on "reject" {}
}
