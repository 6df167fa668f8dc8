#! without source
source "topics" {
  files  = ["data/topics.jsonl"]
  key    = origin.catt
  schema = "schemas/topic.json"
}
