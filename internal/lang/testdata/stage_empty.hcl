stage "idle" {}
stage "both" {
  plugin = plugin.prompt
  decide {
    else { outcome = "ok" }
  }
}
