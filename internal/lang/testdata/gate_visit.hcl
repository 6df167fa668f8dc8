#! without gate codes
failure "R_SCHEMA" { meaning = "x" }
gate "accept" {
  candidate = { card = item, made = visit.write }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = checks.schema
    schema = "schemas/card.json"
  }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data   = "data/${bukket}.jsonl"
    record = { card = card, at = run.started_at }
  }
}
