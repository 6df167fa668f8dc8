#! without routes gate
route "written" {
  from = stage.write
  when { to = stage.judge }
  else {
    ask {}
  }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" {
    too = gate.accept
  }
}
gate "accept" {
  check "novel" {}
  corpus "jsonl" {}
}
