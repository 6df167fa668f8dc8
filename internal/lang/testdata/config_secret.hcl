#! var key=k
variable "key" { sensitive = true }
plugin "exec" { source = "builtin/exec" }
stage "extra" {
  plugin = plugin.exec
  config { command = ["curl", var.key] }
}
route "extra" {
  from = stage.extra
  to   = stage.write
}
