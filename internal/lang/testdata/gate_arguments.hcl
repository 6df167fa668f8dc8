#! without gate
gate "accept" {
  allow_hosts = ["wiki.example.com", "http://x", ""]
  same_owner  = [["example.org", "127.0.0.1"], ["a b"]]
  bucket    = origin.cat
  candidate = { card = item, report = artifact.judge }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "fresh" {
    code  = failure.R_LENGTH
    name  = "path"
    stage = stage.judge
    of    = card
    at    = "a[b"
  }
  check "fresh" {
    code   = failure.R_LENGTH
    name   = "no name"
    stage  = stage.judge
    of     = card
    at     = "/a/~2"
    triage = "accept"
  }
  check "words" {
    code = failure.R_LENGTH
    name = "nothing"
    text = card.x
  }
  check "unrelated" {
    code = failure.R_LENGTH
    urls = [card.x]
    min  = 0
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.x
    max  = 20
  }
  check "live" {
    code   = failure.R_LENGTH
    urls   = [card.x]
    canary = "not an address"
  }
  check "live" {
    code   = failure.R_LENGTH
    name   = "live"
    urls   = [card.x]
    canary = ""
  }
  check "novel" {
    code           = failure.R_LENGTH
    name           = "above"
    text           = card.x
    max_similarity = 1.5
  }
  check "novel" {
    code           = failure.R_LENGTH
    name           = "zero"
    text           = card.x
    max_similarity = 0
  }
  check "novel" {
    code           = failure.R_LENGTH
    name           = "exact"
    text           = card.x
    max_similarity = 0.12345678901
  }
  corpus "jsonl" {
    data     = "data/${bucket}.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
