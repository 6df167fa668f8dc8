stage "a" {
}
}
