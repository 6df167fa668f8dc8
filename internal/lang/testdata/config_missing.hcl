plugin "exec" { source = "builtin/exec" }
stage "extra" {
  plugin = plugin.exec
  config {
    limits {}
  }
}
route "extra" {
  from = stage.extra
  to   = stage.write
}
