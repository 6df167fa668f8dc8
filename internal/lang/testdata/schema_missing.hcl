#! without source
source "topics" {
  files  = ["data/topics.jsonl"]
  schema = "schemas/topics.json"
}
