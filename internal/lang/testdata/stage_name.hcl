stage "two words" {}
