test "wrong types" {
  given = 5
  expect {
    count   = -1
    route   = stage.write
    outcome = "accept"
    codes   = failure.R_SCHEMA
    figures = { words = "1" }
    checks  = ["words"]
    status  = 7
    visits  = { write = 1.5 }
    end     = end
    assert {}
    assert { condition = 1 }
  }
}
test "ways" {
  given  = source.topics
  source = source.topics
  expect {
    route = [gate.accept, stage.write]
    ennd  = "accepted"
  }
}
test "" {
  given = source.topics
  expect { end = "accepted" }
}
