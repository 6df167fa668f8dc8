#! without routes
plugin "exec" { source = "builtin/exec" }
stage "a" {
  plugin = plugin.exec
  config { command = "cat x" }
}
stage "b" {
  plugin = plugin.exec
  config {
    command = ["head", "-n", 3]
    exits   = ["ok"]
  }
}
stage "c" {
  plugin = plugin.exec
  config {
    command = ["cat"]
    exits   = { "0" = "ok", "1" = 1 }
  }
}
route "all" {
  from = [stage.a, stage.b, stage.c]
  to   = stage.write
}
route "written" {
  from = stage.write
  to   = stage.judge
}
route "judged" {
  from = stage.judge
  on "accept" { to = gate.accept }
  on "reject" { stop = "rejected" }
}
