locals {
  a = “x”
}
