locals {
  a = stage.write
  b = gate.accept
  c = var.levle
  d = local.bb
  e = tonumber(var.key)
}
variable "level" { default = "easy" }
variable "key" {
  default   = "s3cret"
  sensitive = true
}
