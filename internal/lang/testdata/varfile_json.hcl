#! varfile comma.json
variable "n" { type = number }
