#! without source
source "topics" {
  files  = ["/etc/*.json", "data/*.jsonl", "data/*.jsonl"]
  format = "josnl"
  limit  = 0
  code   = failure.R_SCHEMA
}
source "none" { files = [] }
