invariant "x" {
  condition = true
  from      = stage.write
}
