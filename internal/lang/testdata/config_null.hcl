plugin "exec" { source = "builtin/exec" }
stage "extra" {
  plugin = plugin.exec
  config {
    command = null
    limits { memory = "64" }
  }
}
route "extra" {
  from = stage.extra
  to   = stage.write
}
