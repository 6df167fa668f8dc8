stage "alone" {
  decide {
    else { outcome = "ok" }
  }
}
route "alone" {
  from = stage.alone
  to   = stage.judge
}
