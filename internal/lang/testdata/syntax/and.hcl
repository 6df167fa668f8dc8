locals {
  a = true and false
}
