#! without gate
stage "sort" {
  decide {
    else { outcome = "ok" }
  }
}
route "sort" {
  from = stage.sort
  to   = stage.write
}
gate "accept" {
  candidate = { card = item }
  hold      = stage.sort
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  corpus "jsonl" {
    data     = "data/${bucket}.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
