locals {
  a = true & false
}
