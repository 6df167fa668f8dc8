locals {
  a = @x
}
