variable "strict" {
  type    = bool
  default = true
}
variable "least" {
  type    = number
  default = 1
  validation {
    condition = var.least > 0
    message   = "it must be above 0"
  }
}
mode "careful" { value = "apply" }
plugin "sort" { source = "builtin/sort" }

stage "sorter" {
  plugin   = plugin.sort
  input    = { card = item }
  outcomes = ["left", "right"]
  forward  = item
  findings { codes = { odd = failure.R_ODD } }
}
stage "rules" {
  decide {
    rule "STRICT" {
      if      = var.strict
      outcome = "ok"
    }
    else { outcome = "ok" }
  }
  forward = item
}
route "sorted" {
  from = stage.sorter
  on "left" { to = stage.rules }
  on "right" { to = stage.rules }
}
route "ruled" {
  from = stage.rules
  to   = stage.write
}
failure "R_ODD" {
  meaning = "It is odd."
  triage  = "review"
}
