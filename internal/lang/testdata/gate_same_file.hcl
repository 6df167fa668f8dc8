#! without gate
gate "accept" {
  candidate  = { card = item }
  rejections = "meta/rows.jsonl"
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.x
    max  = 20
  }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/rows.jsonl"
    record   = card
  }
}
