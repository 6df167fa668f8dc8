#! without routes gate
failure "R_NEAR" { meaning = "Too near." }
mode "quality" { value = requested == "apply" && labels(gate.accept, "quality", { model = "m" }) > 30 ? "apply" : "shadow" }
route "written" {
  from = stage.write
  to   = stage.judge
}
route "judged" {
  from = stage.judge
  on "accept" {
    to = gate.accept
    mode = mode.quality
    shadow { stop = "rejected" }
  }
  on "reject" {
    ask {
      question = "Is ${item.q} right?"
      resume   = answer.value == "again" ? stage.write : stage.judge
      max      = 1
    }
  }
}
gate "accept" {
  bucket    = origin.cat
  candidate = { card = item }
  check "schema" {
    code   = failure.R_SCHEMA
    value  = card
    schema = "schemas/card.json"
  }
  check "words" {
    code = failure.R_LENGTH
    text = card.x
    max  = 20
  }
  check "score" {
    code   = failure.R_NEAR
    value  = 0.5
    review = 0.7
  }
  corpus "jsonl" {
    evidence = "meta/evidence.jsonl"
    data   = "data/${bucket}.jsonl"
    record = card
  }
}
