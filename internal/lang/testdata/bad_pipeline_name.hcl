#! without pipeline
pipeline "a/b" {}
