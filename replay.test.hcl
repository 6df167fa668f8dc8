# What becomes of the batches of the example, as its cassette has them: `penstock test replay.test.hcl`.

test "of the recorded batch of society, each card ends for its own reason" {
  given = source.buckets
  keys  = ["society/hard/1"]
  expect {
    where = artifact.topic_miner.title == "Founding of the Red Cross"
    route = [stage.crafter, stage.verifier, stage.repairer]
    end   = "failed"
    code  = failure.R_SCHEMA
    cause = "E_MASK"
  }
  expect {
    where  = artifact.topic_miner.title == "First coffee house of Vienna"
    route  = [stage.crafter, stage.verifier]
    end    = "rejected"
    status = "abstain"
  }
  expect {
    where = artifact.topic_miner.title == "Peace Palace"
    route = [stage.crafter, stage.verifier, gate.accept]
    end   = "rejected"
    code  = failure.R_UNSTABLE
  }
  expect {
    where = end == "accepted"
    count = 2
    calls = { crafter = 1, verifier = 1 }
  }
}

test "what a recorded model had to be told twice is told twice" {
  given = source.buckets
  keys  = ["film-tv/easy/1"]
  expect {
    where = artifact.topic_miner.title == "Casablanca"
    route = [stage.mme_crafter]
    code  = failure.R_SCHEMA
    cause = "E_OUTPUT"
    calls = { mme_crafter = 3 }
  }
  expect {
    where   = artifact.topic_miner.title == "The Simpsons"
    outcome = { verifier = ["repair", "abstain"] }
    status  = "abstain"
  }
  expect {
    where = artifact.topic_miner.title == "Tatooine"
    code  = failure.R_SRC_DEAD
  }
}

test "the example ends as its README says" {
  given = source.buckets
  expect {
    where = outcome.verifier == "accept" && end == "accepted"
    count = 41
    cause = null
  }
  total {
    items          = 79
    ends           = { accepted = 41, rejected = 17, failed = 8, expanded = 13, parked = 0 }
    visits         = { topic_miner = 14 }
    provider_calls = { writer = 92, judge = 71 }
  }
}
