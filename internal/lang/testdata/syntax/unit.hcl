locals {
  a = 60k
}
