#! without routes gate
plugin "exec" { source = "builtin/exec" }
stage "split" {
  plugin = plugin.exec
  config { command = ["cat"] }
  output { schema = "schemas/report.json" }
  fan_out {
    each = output.repair_fields == null ? [] : output.repair_fields
    key  = each.name
  }
}
route "split" {
  from = stage.split
  when {
    if = item == 1
    to = stage.write
  }
  else { stop = "rejected" }
}
route "written" {
  from = stage.write
  to   = stage.judge
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
gate "accept" {
  candidate = { card = item }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "assert" {
    code      = failure.R_LENGTH
    condition = finding.R_SCHEMA == null || finding.R_SCHEMA.mode == "apply" || finding.R_SCHEMA.shadow
  }
  corpus "jsonl" {
    data            = "data/all.jsonl"
    evidence        = "meta/evidence.jsonl"
    record          = card
    evidence_record = { at = run.started_at, dry = run.dry }
  }
}
