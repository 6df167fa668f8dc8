#! without gate
gate "accept" {
  candidate = { card = item }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "phrases" {
    code   = failure.R_LENGTH
    texts  = [card.q, card.x]
    reject = jsondecode(file("phrases/good.json"))
  }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
