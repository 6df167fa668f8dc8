failure "OLD" {
  note { text = "why" }
}
