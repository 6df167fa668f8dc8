test "expectations of what is not there" {
  given = source.topics
  expect {
    where   = item.catt == "a"
    route   = [stage.wriet, gate.acept]
    outcome = { jugde = "accept", judge = "acept", write = "no" }
    end     = "acepted"
    code    = failure.R_SCEMA
    codes   = ["E_REFUSD", "R_SCHEMA"]
    cause   = "E_MSK"
    triage  = "acept"
    checks  = { word = "held", words = "holds" }
    figures = { R_OD = 1 }
    visits  = { sorte = 1 }
    calls   = { judg = 1 }
  }
  total {
    ends           = { acepted = 1 }
    provider_calls = { wrter = 0 }
  }
}
