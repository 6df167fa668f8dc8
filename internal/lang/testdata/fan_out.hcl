plugin "exec" { source = "builtin/exec" }
stage "split" {
  plugin = plugin.exec
  config { command = ["split"] }
  output { schema = "schemas/card.json" }
  fan_out {
    each    = output.w
    key     = each
    exactly = 5
    max     = 3
  }
}
route "split" {
  from = stage.split
  to   = stage.write
}
