stage "write" {}
