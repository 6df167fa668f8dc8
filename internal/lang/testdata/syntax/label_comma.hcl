stage "a", "b" {
}
