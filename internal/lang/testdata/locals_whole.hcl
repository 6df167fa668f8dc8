locals {
  a = 1
  b = local["${"a"}"]
  d = local
}
