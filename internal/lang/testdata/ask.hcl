#! without routes
route "written" {
  from = stage.write
  to   = stage.judge
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" {
    ask {
      question = answer.value
      resume   = "write"
      max      = 1
    }
  }
}
