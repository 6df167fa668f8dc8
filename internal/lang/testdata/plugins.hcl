plugin "files" {
  source = "builtin/prompt"
  files  = ["x"]
}
plugin "empty" { command = [] }
plugin "outside" {
  command = ["x"]
  files   = ["../x"]
}
plugin "absolute" { source = "/usr/bin/x" }
