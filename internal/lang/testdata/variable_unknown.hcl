#! var lvel=easy
variable "level" { default = "hard" }
