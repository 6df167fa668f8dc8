provider "a" {
  plugin = plugin.openai
  model  = "${env.MODEL}"
}

provider "b" {
  plugin = plugin.openai
  model  = var.modle
}

provider "c" {
  plugin = plugin.openai
  model  = "${MODEL}"
}

locals {
  a = yes
  b = nil
  c = "x" + "y"
  d = path.module
  e = len([1])
  f = regex("(?=x)", "y")
}
