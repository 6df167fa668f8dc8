#! without gate codes
failure "R_SCHEMA" { meaning = "The card is malformed." }
failure "R_DEAD" { meaning = "A source is dead." }
failure "R_DUP" { meaning = "The question is there already." }
gate "accept" {
  candidate = { card = item }
  check "live" {
    code    = failure.R_DEAD
    urls    = card.w
    timeout = "soon"
    blocked = "alive"
    canary  = card.x
  }
  check "live" {
    code    = failure.R_DEAD
    urls    = card.w
    timeout = "0s"
  }
  check "assert" {
    code      = failure.R_SCHEMA
    condition = checks.live.pages[0].status == 200
  }
  check "unique" {
    code = failure.R_DUP
    keys = [card.q]
  }
  check "quoted" {
    code    = failure.R_DEAD
    sources = card.q
  }
  corpus "jsonl" {
    data            = "data/all.jsonl"
    evidence        = "meta/evidence.jsonl"
    record          = { pages = checks.live.pages }
    evidence_record = { pages = checks.alive.pages, exempt = checks.live.pages }
  }
}
