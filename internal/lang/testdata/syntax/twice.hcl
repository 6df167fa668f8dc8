provider "a" {
  model = "x"

  model = "y"
}
