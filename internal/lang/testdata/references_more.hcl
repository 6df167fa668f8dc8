#! without routes
route "written" {
  from = stage.write
  to   = "${stage.judge}"
}

route "judged" {
  from = stage.judge
  on "accept" { to = judge }
  on "reject" { stop = "rejected" }
}
