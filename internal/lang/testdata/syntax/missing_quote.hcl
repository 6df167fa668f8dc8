stage "a" {
  code = file("prompts/writer.md)
}
