stage "a" {
  outcomes = ["keep" "drop"]
}
