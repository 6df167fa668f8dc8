#! without routes gate
route "written" {
  from = stage.write
  when {
    if = "item.x"
    to = stage.judge
  }
  when {
    if = self.x == "a"
    to = stage.judge
  }
  else { stop = rejected }
}

route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
gate "accept" {
  bucket    = origin.cat
  candidate = { card = item, report = artifact.judge }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "unique" {
    code = failure.R_LENGTH
    keys = card.x
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.x
    max  = 20
  }
  corpus "jsonl" {
    data     = "data/${bucket}.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
