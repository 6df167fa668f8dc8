#! without routes stages gate codes
stage "a" { 
  decide {
    else { outcome = "ok" }
  }
}
stage "b" {
  decide {
    else { outcome = "ok" }
  }
}
stage "c" {
  decide {
    else { outcome = "ok" }
  }
}
stage "d" {
  decide {
    else { outcome = "ok" }
  }
}
route "a" {
  from = stage.a
  to   = stage.b
}
route "b" {
  from = stage.b
  to   = stage.a
  max  = 1
  exhausted { to = gate.accept }
}
route "c" {
  from = stage.c
  to   = stage.d
}
route "d" {
  from = stage.d
  to   = stage.c
  max  = 1
}
gate "accept" {
  candidate = { card = item }
  corpus "jsonl" {
    data     = "data/x.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
