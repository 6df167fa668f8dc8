locals {
  a = 2 ** 3
}
