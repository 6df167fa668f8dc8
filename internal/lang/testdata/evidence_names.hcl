#! without gate
gate "accept" {
  candidate = { card = item }
  corpus "jsonl" {
    data            = "data/all.jsonl"
    evidence        = "meta/evidence.jsonl"
    record          = card
    evidence_record = { digest = card.q, made = card.q }
  }
}
