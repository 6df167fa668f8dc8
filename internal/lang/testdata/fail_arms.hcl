#! without routes
route "written" {
  from = stage.write
  to   = stage.judge
  fail "E_OUTPUT" { stop = "failed" }
  fail "E_OUTPUT" { stop = "failed" }
  fail { stop = "failed" }
  fail "E_MASK" { stop = "failed" }
  fail "A" "B" { stop = "failed" }
  fail "E_OUTPT" { stop = "failed" }
  fail "E_TIMEOUT" { stop = "failed" }
}

route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
