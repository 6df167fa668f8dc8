#! without routes gate
route "written" {
  from = stage.write
  when {
    if = origin.level == "easy"
    to = stage.judge
  }
  else { to = gate.accept }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
gate "accept" {
  candidate = { card = item, report = artifact.judge }
  check "assert" {
    code      = failure.R_SCHEMA
    condition = report.sure
  }
  check "assert" {
    code      = failure.R_LENGTH
    condition = report == null || report.sure
  }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data   = "data/all.jsonl"
    record = card
  }
}
