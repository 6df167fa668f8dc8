locals {
  a = var.x === 1
}
