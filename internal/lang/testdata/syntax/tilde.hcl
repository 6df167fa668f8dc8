locals {
  a = ~true
}
