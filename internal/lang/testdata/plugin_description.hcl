plugin "odd" { source = "builtin/odd" }
stage "extra" { plugin = plugin.odd }
route "extra" {
  from = stage.extra
  to   = stage.write
}
