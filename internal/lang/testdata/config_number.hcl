provider "a" {
  plugin = plugin.openai
  model  = "m"
  config { temperature = 1e400 }
}
