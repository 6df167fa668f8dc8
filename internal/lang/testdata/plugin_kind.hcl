stage "extra" { plugin = plugin.openai }
provider "p" {
  plugin = plugin.prompt
  model  = "m"
}
