stages "x" {}
