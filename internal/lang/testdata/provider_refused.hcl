plugin "choosy" { source = "builtin/choosy" }
provider "third" {
  plugin = plugin.choosy
  model  = "m"
  config {
    api_key  = env("THIRD_KEY")
    base_url = "localhost"
  }
}
provider "fourth" {
  plugin = plugin.choosy
  model  = "n"
}
