#! without routes
route "written" {
  from = stage.write
  when {
    if = try(item.cat, "x") == "y"
    to = stage.judge
  }
  when {
    if = lenght(item.w) > 3
    to = stage.judge
  }
  else { stop = "rejected" }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
