#! without gate
locals {
  good   = jsondecode(file("phrases/good.json"))
  dir    = "phrases"
  bad    = jsondecode(file("${local.dir}/bad.json"))
  second = local.bad
}
gate "accept" {
  candidate = { card = item }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "phrases" {
    name   = "read_from_a_file"
    code   = failure.R_LENGTH
    texts  = [card.q]
    reject = local.good
  }
  check "phrases" {
    name   = "wrong_in_the_file"
    code   = failure.R_LENGTH
    texts  = [card.q]
    reject = local.second
  }
  check "phrases" {
    name   = "wrong_in_place"
    code   = failure.R_LENGTH
    texts  = [card.q]
    reject = ["right now", "and so on, and so on"]
  }
  check "phrases" {
    name   = "misspelt"
    code   = failure.R_LENGTH
    texts  = [card.q]
    reject = [{ name = "now", phrase = "now" }]
  }
  check "phrases" {
    name   = "no_list"
    code   = failure.R_LENGTH
    texts  = [card.q]
    reject = "right now"
  }
  check "phrases" {
    name   = "of_an_item"
    code   = failure.R_LENGTH
    texts  = [card.q]
    reject = card.w
  }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
