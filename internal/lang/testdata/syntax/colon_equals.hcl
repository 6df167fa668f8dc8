locals {
  a := 1
}
