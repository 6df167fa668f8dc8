locals {
  a =
}
