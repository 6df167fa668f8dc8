locals {
  a = true or false
}
