#! without routes
route "written" {
  from = stage.write
  when {
    if = run.dry
    to = stage.judge
  }
  else { to = stage.judge }
  fail {
    when {
      if   = output.cat == "x" || failed.write.cause == "E_REFUSED"
      stop = "rejected"
    }
    else { stop = "failed" }
  }
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
