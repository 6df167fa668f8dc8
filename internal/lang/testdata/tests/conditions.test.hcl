test "conditions over names that are not there" {
  given = [{ cat = "a", id = "1" }]
  expect {
    assert { condition = artifact.judg.status == "accept" }
    assert { condition = artifact.judge.statsu == "accept" }
    assert { condition = checks.wrods.state == "held" }
    assert { condition = finding.R_OD == null }
    assert { condition = output.q == run.id }
  }
}
