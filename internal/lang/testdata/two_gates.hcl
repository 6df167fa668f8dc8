gate "second" {
  candidate = { card = item }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data = "x.jsonl"
    record = card
  }
}
