#! without gate
gate "accept" {
  candidate = { card = item, item = item, "a b" = item }
  check "uniqe" { code = failure.R_SCHEMA }
  check "unique" {
    code = failure.R_SCHEMA
    keys = [card.q]
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.qq
    min  = 30
    max  = 20
    most = 1
  }
  check "distinct" {
    code         = failure.R_SCHEMA
    values       = card.w
    count        = item.n
    min_distance = 3
    numbers      = "value"
  }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data   = "data/all.jsonl"
    record = card
    evidence_record = { run = run.id, pages = checks.unique, made = visit.write.model }
  }
  breaker {
    consecutive = 0
    counts      = ["failed", "skipped"]
  }
}
