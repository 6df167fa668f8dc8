locals {
  a = [for x var.y : x]
}
