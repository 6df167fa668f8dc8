locals {
  a = [var.x.lower()]
}
