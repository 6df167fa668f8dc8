locals {
  a = two words
}
