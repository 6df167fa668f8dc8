plugin "sort" { source = "builtin/sort" }
stage "a" {
  plugin   = plugin.sort
  outcomes = ["left", "right"]
  findings { codes = "thin" }
}
stage "b" {
  plugin   = plugin.sort
  outcomes = ["left", "right"]
  findings { codes = { (var.x) = failure.R_LENGTH, thin = failure.R_LENGHT } }
}
stage "c" {
  outcomes = ["x", "y"]
  findings { codes = { thin = failure.R_LENGTH } }
  decide {
    else { outcome = "x" }
    finding "f" { code = failure.R_LENGTH }
    finding "f" { code = failure.R_LENGTH }
  }
}
stage "d" {
  let { a = 1 }
  let { a = 2 }
  plugin   = plugin.sort
  outcomes = ["left", "right"]
  fan_out {
    each = output.x
    key  = each.id
    min  = 5
    max  = 2
  }
}
