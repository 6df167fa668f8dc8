#! without plugins
plugin "prompt" { source = "builtin/prompt" }
plugin "openai" { source = "builtin/openai" }
provider "writer" {
  plugin = plugin.openai
  model  = "m"
  config {
    temprature = 0.3
    base_url   = 5
  }
}
provider "judge" {
  plugin = plugin.openai
  model  = "m2"
}
