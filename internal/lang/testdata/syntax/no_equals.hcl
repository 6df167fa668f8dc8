provider "a" {
  model "echo"
}
