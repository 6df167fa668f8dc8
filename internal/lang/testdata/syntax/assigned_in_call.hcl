locals {
  a = max(x = 1)
}
