#! without routes
route "written" {
  from = stage.write
  to   = item.x == "a" ? stage.judge : stage.write
}

route "judged" {
  from = [stage.judge, stage.judge]
  on "accept" { to = local.where }
  on "reject" { stop = "rejected" }
}
