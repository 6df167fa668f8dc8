#! without base
pipeline "p" {}
source "s" {
  files  = ["data/topics.jsonl"]
  schema = "schemas/topic.json"
}
plugin "exec" { source = "builtin/exec" }
stage "only" {
  plugin = plugin.exec
  config { command = ["cat"] }
  input = { a = artifact.other, o = outcome.other, f = failed.other, c = finding.R_X }
}
route "only" {
  from = stage.only
  to   = gate.g
}
gate "g" {
  candidate = { card = item }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
