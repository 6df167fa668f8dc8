plugin "sampler" { source = "builtin/sampler" }
plugin "steady" { source = "builtin/steady" }

provider "new" {
  plugin = plugin.steady
  model  = "new"
}

stage "one" {
  plugin   = plugin.sampler
  provider = provider.new
  output { schema = "schemas/card.json" }
}

route "three" {
  from = stage.one
  on "ok" { to = stage.write }
}
