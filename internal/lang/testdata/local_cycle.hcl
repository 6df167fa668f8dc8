locals {
  a = local.b
  b = "${local.c}!"
  c = [local.a]
  ok = local.a # says nothing more
}
