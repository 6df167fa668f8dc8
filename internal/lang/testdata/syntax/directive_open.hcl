locals {
  a = "a %{ if true }b"
}
