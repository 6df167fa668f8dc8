variable "key" {
  type      = string
  default   = "x"
  sensitive = true
}
provider "a" {
  plugin = plugin.openai
  model  = var.key
  config { headers = { a = [var.key] } }
}
