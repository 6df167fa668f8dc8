plugin "pormpt" { source = "builtin/pormpt" }
stage "extra" { plugin = plugin.pormpt }
route "extra" {
  from = stage.extra
  to   = stage.write
}
