#! without gate
gate "accept" {
  bucket    = origin.cat
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
    data     = "data/${bucket}.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
