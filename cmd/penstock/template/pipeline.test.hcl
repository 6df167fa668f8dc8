# What must hold whatever the model says. Do `penstock test`.

mock {
  stage  = stage.writer
  output = { title = item.topic, text = "Three words on ${item.topic}." }
}

test "a note that the judge keeps is accepted" {
  given = [{ topic = "tides" }]
  mock {
    stage  = stage.judge
    output = { verdict = "keep", reason = "It is right." }
  }
  expect {
    route = [stage.writer, stage.judge, gate.keep]
    end   = "accepted"
    record = {
      id    = "9359973e39230420"
      text  = "Three words on tides."
      title = "tides"
    }
  }
}

test "a note that the judge drops is not" {
  given = [{ topic = "tides" }]
  mock {
    stage  = stage.judge
    output = { verdict = "drop", reason = "It is too short." }
  }
  expect {
    route = [stage.writer, stage.judge]
    end   = "rejected"
    code  = null
  }
}
