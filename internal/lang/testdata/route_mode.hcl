#! without routes
mode "quality" { value = "aply" }
mode "other" { value = "apply" }
route "written" {
  from = stage.write
  to   = stage.judge
  mode = mode.qualty
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" {
    stop = "rejected"
    shadow { to = gate.accept }
  }
}
