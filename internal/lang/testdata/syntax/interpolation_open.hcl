locals {
  a = "a ${b"
}
