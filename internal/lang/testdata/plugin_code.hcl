plugin "grade" { source = "builtin/grade" }
stage "grade" { plugin = plugin.grade }
route "grade" {
  from = stage.grade
  to   = stage.write
}
