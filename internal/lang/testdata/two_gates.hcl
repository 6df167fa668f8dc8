gate "second" {
  candidate = { card = item }
  corpus "jsonl" {
    data = "x.jsonl"
    record = card
  }
}
