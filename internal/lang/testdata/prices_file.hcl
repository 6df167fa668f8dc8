#! without pipeline
pipeline "cards" {
  prices = "data/prices.json"
  budget { usd = 1 }
}
