#! without pipeline
pipeline "cards" {
  replay = "../outside.jsonl"
  budget {
    calls  = 1.5
    tokns  = 3
    usd    = -1
  }
}
