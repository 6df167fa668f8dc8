#! without pipeline
pipeline "cards" { requires = ">= 0.2.0, < 1.0.0" }
