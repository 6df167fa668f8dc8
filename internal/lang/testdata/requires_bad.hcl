#! without pipeline
pipeline "cards" { requires = "newest" }
