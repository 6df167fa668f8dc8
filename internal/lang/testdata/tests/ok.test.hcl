let { topic = { cat = "a", id = "1" } }

mock {
  stage   = stage.sorter
  outcome = "left"
  output  = {}
  finding "odd" { figure = 0.5 }
}

test "every attribute" {
  given     = [topic]
  source    = source.topics
  keys      = ["a/1"]
  replay    = null
  variables = { strict = false, least = 2 }
  modes     = { careful = "shadow" }
  let { card = { q = item.id, a = "y", w = [], x = "z", cat = item.cat } }
  mock {
    stage  = stage.write
    if     = key == "a/1" && pass == 1 && item.level == null
    output = card
  }
  mock {
    stage   = stage.judge
    code    = "E_REFUSED"
    message = "no"
  }
  expect {
    item    = "a/1"
    where   = end == "failed" && item.cat == "a"
    count   = 1
    route   = [stage.sorter, stage.rules, stage.write, stage.judge, gate.accept]
    outcome = { sorter = "left", judge = ["reject", null], write = null }
    end     = "failed"
    code    = failure.R_SCHEMA
    codes   = [failure.R_SCHEMA, "E_REFUSED"]
    cause   = "E_REFUSED"
    status  = null
    triage  = "review"
    checks  = { words = "held", schema = null }
    figures = { words = 1, R_ODD = 0.5, R_LENGTH = null }
    visits  = { write = 1 }
    calls   = { write = 0 }
    record  = { q = "x" }
    assert {
      condition = artifact.judge.status == "accept" || failed.judge.code == code && finding.R_ODD.figure > 0 && contains(route, "write")
      message   = "it is not so"
    }
    assert { condition = checks.words.state == "held" && visits.write == 1 && calls.judge == 0 && triage == "accept" && status == null && cause == "E_MASK" && message != "" && contains(codes, "R_ODD") && record.q == "x" }
  }
  total {
    items          = 1
    ends           = { accepted = 1, parked = 0 }
    visits         = { write = 1 }
    calls          = { write = 0 }
    provider_calls = { judge = 0 }
  }
}

test "items of a file" {
  given = "data/topics.jsonl"
  expect { end = "accepted" }
}

test "items of the source" {
  given = source.topics
  total { items = 3 }
}
