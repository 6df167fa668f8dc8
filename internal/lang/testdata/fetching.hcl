plugin "fetch" { source = "builtin/fetch" }
plugin "dedupe" { source = "builtin/dedupe" }
plugin "sort" { source = "builtin/sort" }
stage "a" { plugin = plugin.fetch }
stage "b" {
  plugin = plugin.dedupe
  config { keys = ["a"] }
}
stage "c" {
  plugin   = plugin.sort
  provider = provider.writer
  outcomes = ["left", "right"]
  rescue   = "lft"
  batch { size = 5 }
}
