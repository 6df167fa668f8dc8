plugin "fussy" { source = "builtin/fussy" }
stage "extra" {
  plugin = plugin.fussy
  config {
    depth = 9
    limits { memory = 5 }
  }
}
stage "other" {
  plugin = plugin.fussy
  config { depth = 1 }
}
stage "bare" { plugin = plugin.fussy }
route "extra" {
  from = stage.extra
  to   = stage.other
}
route "other" {
  from = stage.other
  to   = stage.bare
}
route "bare" {
  from = stage.bare
  to   = stage.write
}
