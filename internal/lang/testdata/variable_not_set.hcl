variable "level" { type = string }
