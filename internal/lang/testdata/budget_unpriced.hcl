#! without pipeline
pipeline "cards" {
  budget {
    calls = 100
    usd   = 2
  }
}
