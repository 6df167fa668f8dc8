locals {
  a = 60%
}
