test "names that are not there" {
  given     = source.topic
  variables = { strikt = true }
  modes     = { carefull = "apply", careful = "on" }
  mock {
    stage  = stage.writ
    output = {}
  }
  mock {
    stage  = stage.write
    if     = item.catt == "a" && kee == "b"
    output = { q = item.idd }
  }
  expect { end = "accepted" }
}
