{
  "pipeline": {"notes": {}}
}
