locals {
  a = "a %{ iff true }b%{ endif }"
}
