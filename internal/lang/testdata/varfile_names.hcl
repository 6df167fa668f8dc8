#! varfile names.hcl
variable "n" { type = number }
