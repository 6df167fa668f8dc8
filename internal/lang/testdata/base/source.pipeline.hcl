source "topics" {
  files  = ["data/topics.jsonl"]
  key    = "${origin.cat}/${origin.id}"
  schema = "schemas/topic.json"
}
