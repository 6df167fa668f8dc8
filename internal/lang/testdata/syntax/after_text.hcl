locals {
  a = "x" 5
}
