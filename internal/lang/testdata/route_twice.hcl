route "again" {
  from = stage.write
  to   = stage.judge
}
