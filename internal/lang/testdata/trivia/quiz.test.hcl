test "an accepted card is written" {
  given  = [{ cat = "history", diff = "easy", batch = 1 }]
  replay = "cassette.jsonl"
  mock {
    stage  = stage.verifier
    output = { status = "accept" }
  }
  expect {
    route   = [stage.crafter, stage.verifier, gate.accept]
    outcome = { verifier = "accept" }
    triage  = "accept"
  }
}
