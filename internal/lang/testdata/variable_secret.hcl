#! var n=abc
variable "n" {
  type      = number
  sensitive = true
}
