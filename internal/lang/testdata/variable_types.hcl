#! var of_list=1
variable "of_list" { type = list }
variable "of_object" { type = object }
variable "of_int" { type = int }
variable "secret" {
  type      = number
  sensitive = true
  default   = "x"
}
