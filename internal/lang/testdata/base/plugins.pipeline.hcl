plugin "prompt" { source = "builtin/prompt" }
plugin "openai" { source = "builtin/openai" }
plugin "anthropic" { source = "builtin/anthropic" }

provider "writer" {
  plugin = plugin.openai
  model  = "model-w"
  config { api_key = env("WRITER_KEY") }
}

provider "judge" {
  plugin = plugin.anthropic
  model  = "model-j"
  config { api_key = env("JUDGE_KEY") }
}
