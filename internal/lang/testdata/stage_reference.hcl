#! without stages
stage "write" {
  plugin   = "prompt"
  provider = provider.writter
  config { template = file("prompts/write.md") }
}
stage "judge" {
  plugin   = prompt
  provider = plugin.openai
}
