#! without routes
route "written" {
  from = stage.write
  to   = [stage.judge]
}

route "judged" {
  from = []
  on "accept" { to = stages.judge }
  on "reject" { stop = "rejected" }
}
