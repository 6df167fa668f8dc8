stage "x" {
  plugin = 
}
