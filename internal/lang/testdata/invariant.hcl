#! without routes
route "written" {
  from = stage.write
  when {
    if = origin.level == "easy"
    to = stage.judge
  }
  else { to = gate.accept }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
invariant "every card is judged" {
  from    = [stage.write]
  to      = gate.accept
  through = stage.judge
}
invariant "arithmetic" { condition = 1 > 2 }
invariant "half" { from = stage.write }
