stage "a" = {
}
