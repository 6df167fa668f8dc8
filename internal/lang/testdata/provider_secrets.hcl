#! live
#! env WRITER_KEY=k
provider "third" {
  plugin = plugin.openai
  model  = "m"
  config {
    api_key  = env("THIRD_KEY")
    headers  = { authorization = "Bearer ${env("OTHER_KEY")}" }
  }
}
