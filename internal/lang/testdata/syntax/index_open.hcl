locals {
  a = var.x[0
}
