#! without routes
variable "strict" { default = true }
route "written" {
  from = stage.write
  when {
    if = var.strict
    to = stage.judge
  }
  when {
    if = output.cat == "music"
    to = gate.accept
  }
  else { stop = "rejected" }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
