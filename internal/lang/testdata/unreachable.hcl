stage "alone" {
  decide {
    else { outcome = "ok" }
  }
}
route "alone" {
  from = stage.alone
  on "ok" { to = stage.alone2 }
}
stage "alone2" {
  decide {
    else { outcome = "ok" }
  }
}
route "alone2" {
  from = stage.alone2
  on "ok" {
    to  = stage.alone
    max = 3
  }
}
