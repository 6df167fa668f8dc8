#! without routes
route "written" {
  from = stage.wirte
  to   = stage.judge
}
route "judged" {
  from = [stage.judge, stage.judge]
  on "acept" { to = gate.acept }
  on "reject" { stop = "reject" }
  on "reject" { stop = "rejected" }
}
