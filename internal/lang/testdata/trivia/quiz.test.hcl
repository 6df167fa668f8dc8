test "an accepted card is written" {
  given  = [{ cat = "history", diff = "easy", batch = 1 }]
  replay = "cassette.jsonl"
  mock {
    stage   = stage.verifier
    outcome = "accept"
    output  = { status = "accept" }
  }
  expect {
    route   = route.verdict
    stage   = stage.verifier
    outcome = "accept"
    triage  = "accept"
  }
}
