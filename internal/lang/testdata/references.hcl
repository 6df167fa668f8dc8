#! without routes
route "written" {
  from = "write"
  to   = "stage.judge"
}

route "judged" {
  from = stage.judge
  on "accept" { to = stage.judge.output }
  on "reject" { stop = "rejected" }
}
