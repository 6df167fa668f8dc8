#! without routes codes
failure "R_SCHEMA" { meaning = "The card is malformed." }
failure "R_LENGTH" { meaning = "The explainer is too long." }
failure "R_OLD" {
  meaning = "Was given once."
  retired = true
}
route "written" {
  from = stage.write
  to   = stage.judge
  fail "R_LENGTH" { stop = "rejected" }
  fail "R_OLD" { stop = "rejected" }
  fail "E_EXHAUSTED" { stop = "rejected" }
  fail "E_INPUT" { stop = "rejected" }
  fail "E_OUTPUT" { stop = "rejected" }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
