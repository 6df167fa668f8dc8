#! without gate codes
failure "R_SCHEMA" { meaning = "The card is malformed." }
failure "R_LAUNDER" { meaning = "The sources are one." }
failure "R_DEAD" { meaning = "A source is dead." }
failure "R_QUOTE" { meaning = "A quote does not stand on its page." }
failure "R_DUP" { meaning = "The question is there already." }
gate "accept" {
  candidate   = { card = item }
  allow_hosts = ["127.0.0.1:8080"]
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "unrelated" {
    code = failure.R_LAUNDER
    urls = card.w
  }
  check "live" {
    code    = failure.R_DEAD
    urls    = card.w
    timeout = "10s"
    blocked = "undecided"
    canary  = "https://www.iana.org/"
  }
  check "live" {
    name = "again"
    code = failure.R_DEAD
    urls = [card.x]
    if   = card.x != ""
  }
  check "quoted" {
    code    = failure.R_QUOTE
    sources = [{ url = card.w[0], quote = card.a }]
  }
  check "unique" {
    code = failure.R_DUP
    keys = [card.q]
  }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
    evidence_record = {
      pages   = checks.live.pages
      finals  = checks.live.pages[*].final_url
      first   = checks.again.pages[0].digest
      domains = checks.unrelated.final_domains
      quotes  = checks.quoted.quotes
    }
  }
}
