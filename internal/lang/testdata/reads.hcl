plugin "exec" { source = "builtin/exec" }
stage "read" {
  plugin = plugin.exec
  reads  = gate.accept
  config { command = ["cat"] }
}
route "read" {
  from = stage.read
  to   = stage.write
}
