#! varfile shell.hcl
variable "n" { type = number }
