test "a value that is refused" {
  given     = [{ cat = "a", id = "1" }]
  variables = { least = 0 }
  expect { end = "accepted" }
}
test "a value of another type" {
  given     = [{ cat = "a", id = "1" }]
  variables = { strict = "maybe" }
  expect { end = "accepted" }
}
test "a name that is looked up with the values of the test" {
  given     = [{ cat = "a", id = "1" }]
  variables = { least = 3 }
  expect { where = item.nothing == "a" }
}
test "one that holds" {
  given     = [{ cat = "a", id = "1" }]
  variables = { least = 3 }
  modes     = { careful = "shadow" }
  expect { end = "accepted" }
}
