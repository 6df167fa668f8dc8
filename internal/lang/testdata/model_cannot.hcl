plugin "sampler" { source = "builtin/sampler" }
plugin "steady" { source = "builtin/steady" }

provider "steady" {
  plugin = plugin.steady
  model  = "old"
  config {
    api_key     = "none"
    temperature = 0.2
    max_tokens  = 4096
  }
}

provider "new" { # of which nothing is known
  plugin = plugin.steady
  model  = "new"
  config { temperature = 1 }
}

stage "one" {
  plugin   = plugin.sampler
  provider = provider.steady
  output { schema = "schemas/card.json" }
  config {
    seed        = 1
    temperature = 0
    max_tokens  = 9000
  }
}

stage "two" {
  plugin   = plugin.sampler
  provider = provider.new
  config { temperature = 0 }
}

route "three" {
  from = [stage.one, stage.two]
  on "ok" { stop = "failed" }
}
