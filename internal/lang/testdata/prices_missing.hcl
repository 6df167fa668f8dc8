#! without pipeline
pipeline "cards" {
  prices = "data/price.json"
}
