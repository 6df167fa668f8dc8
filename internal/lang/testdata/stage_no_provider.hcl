stage "extra" {
  plugin = plugin.prompt
  config { template = "x" }
}
route "extra" {
  from = stage.extra
  to   = stage.write
}
