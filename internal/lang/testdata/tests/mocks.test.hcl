test "mocks that cannot be" {
  given = [{ cat = "a", id = "1" }]
  mock { output = {} }
  mock {
    stage  = stage.rules
    output = {}
  }
  mock { stage = stage.write }
  mock {
    stage   = stage.judge
    output  = { status = "accept", sure = true }
    outcome = "accept"
    message = "no failure"
  }
  mock {
    stage  = stage.sorter
    output = {}
  }
  mock {
    stage   = stage.sorter
    outcome = "up"
    output  = {}
    finding "ood" {}
  }
  mock {
    stage  = stage.write
    output = {}
    code   = "E_OUTPUT"
    finding "odd" {}
  }
  mock {
    stage   = stage.write
    code    = "E_TIMEOUT"
    outcome = "ok"
  }
  mock {
    stage = stage.write
    code  = failure.R_ODD
  }
  mock {
    stage = stage.write
    code  = "E_INPUT"
  }
  mock {
    stage  = stage.write
    if     = artifact.judge.sure
    output = env("HOME")
  }
  expect { end = "accepted" }
}
