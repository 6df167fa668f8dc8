x = 1

locals { a = 1 }
tets "x" {}
let { key = 1 }

test {
  given = []
}
test "nothing in, nothing out" {
  given = []
  keys  = []
}
test "twice" {
  given = [{ cat = "a", id = "1" }]
  expect { end = "accepted" }
}
test "twice" {
  given = [{ cat = "a", id = "1" }]
  expect { end = "accepted" }
}
test "expects nothing" {
  given = [{ cat = "a", id = "1" }]
}
test "expects nothing either" {
  given  = "../secret.jsonl"
  replay = "/etc/passwd"
  expect { item = "a" }
  total {}
}
