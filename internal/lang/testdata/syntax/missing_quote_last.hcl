stage "a" {
  code = "x
}