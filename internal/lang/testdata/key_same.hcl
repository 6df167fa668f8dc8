#! without source
source "topics" {
  files = ["data/topics.jsonl"]
  key   = "{{ origin.id }}"
}
