locals {
  a = var.x[*
}
