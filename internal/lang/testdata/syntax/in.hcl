locals {
  a = 1 in [1]
}
