plugin "sort" { source = "builtin/sort" }
stage "extra" {
  plugin   = plugin.sort
  outcomes = ["left", "rihgt"]
}
stage "extra2" { plugin = plugin.sort }
route "extra" {
  from = stage.extra
  to   = stage.extra2
}
route "extra2" {
  from = stage.extra2
  to   = stage.write
}
