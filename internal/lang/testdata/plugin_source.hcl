plugin "mine" { source = "mine/program" }
plugin "none" {}
plugin "both" {
  source  = "./x"
  command = ["x"]
}
