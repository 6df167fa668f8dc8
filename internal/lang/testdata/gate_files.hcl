#! without gate
gate "accept" {
  candidate  = { card = item }
  rejections = "meta/./rejections.jsonl"
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.x
    max  = card.most
  }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/verdicts.jsonl"
    record   = card
  }
}
