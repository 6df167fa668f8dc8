locals {
  a = not true
}
