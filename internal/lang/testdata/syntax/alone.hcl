locals {
  a
}
