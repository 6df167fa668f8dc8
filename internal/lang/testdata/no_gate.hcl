#! without gate routes
route "r" {
  from = stage.write
  to = stage.judge
}
