stage "a" {
  timeout = "1s"
