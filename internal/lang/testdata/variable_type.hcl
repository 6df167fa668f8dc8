#! var n=many
variable "n" {
  type    = number
  default = 1
}
