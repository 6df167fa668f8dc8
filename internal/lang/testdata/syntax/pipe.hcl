locals {
  a = true | false
}
