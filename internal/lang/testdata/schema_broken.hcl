#! without source
source "topics" {
  files  = ["data/topics.jsonl"]
  schema = "prompts/write.md"
}
