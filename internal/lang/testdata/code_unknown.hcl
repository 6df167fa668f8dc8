#! without gate
gate "accept" {
  candidate = { card = item }
  check "schema" {
    code   = failure.R_SCHEM
    value  = card
    schema = "schemas/card.json"
  }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data   = "data/all.jsonl"
    record = card
  }
}
