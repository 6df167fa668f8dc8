locals {
  a = var.x is null
}
