# What must hold of the trivia-card pipeline, whatever its models say: `penstock test`. docs/testing.md tells how.
#
# Each test gives a batch and says for the stages what a model would have said. Where it says nothing else, one
# topic of five is Canberra, and the verifier rejects all cards. What replays the cassette is in replay.test.hcl.

let {
  batch  = { cat = "geography", diff = "medium", batch = 9 }
  titles = ["Canberra", "Spare one", "Spare two", "Spare three", "Spare four"]
  mined  = { cat = batch.cat, diff = batch.diff, topics = [for t in titles : { cat = batch.cat, diff = batch.diff, title = t, angle = "what it is" }] }

  # The card about the topic at hand.
  card = {
    topic_id = "t-${substr(sha256("${item.cat}\n${normalize(item.title)}"), 0, 12)}"
    cat      = item.cat
    diff     = item.diff
    q        = "Which city was built as the capital of Australia?"
    a        = "Canberra"
    w        = ["Sydney", "Melbourne", "Perth"]
    x        = "Sydney and Melbourne both wanted to be it."
  }
  report = {
    status        = "accept"
    codes         = []
    repair_fields = []
    reason        = "Both sources say so."
    claim         = "Canberra was built as the capital of Australia."
    unique_answer = true
    disproof      = { tried = ["another planned capital"], found = false }
    sources = [
      { url = "https://www.britannica.com/place/Canberra", quote = "federal capital of the Commonwealth of Australia", supports = ["claim", "answer"] },
      { url = "https://en.wikipedia.org/wiki/Canberra", quote = "capital city of Australia", supports = ["claim", "answer"] },
    ]
  }
  rejected = merge(report, { status = "reject", reason = "Not this one." })
  meant    = artifact.topic_miner.title == "Canberra"
}

mock {
  stage  = stage.topic_miner
  output = mined
}
mock {
  stage  = stage.crafter
  output = card
}
mock {
  stage  = stage.verifier
  output = rejected
}

test "a card that is verified is accepted, with its whole record" {
  given = [batch]
  mock {
    stage  = stage.verifier
    if     = meant
    output = report
  }
  expect {
    where   = meant
    route   = [stage.crafter, stage.verifier, gate.accept]
    outcome = { verifier = "accept" }
    end     = "accepted"
    triage  = "accept"
    code    = null
    checks  = { live = "held", novel = "held" }
    record = {
      a        = "Canberra"
      cat      = "geography"
      diff     = "medium"
      id       = "geography-medium-b17b37bcb21b"
      q        = "Which city was built as the capital of Australia?"
      topic_id = "t-5f27110c95eb"
      w        = ["Sydney", "Melbourne", "Perth"]
      x        = "Sydney and Melbourne both wanted to be it."
    }
  }
  expect {
    where  = !meant
    count  = 4
    route  = [stage.crafter, stage.verifier]
    end    = "rejected"
    status = "reject"
    code   = null
    record = null
  }
  total {
    items  = 6
    ends   = { accepted = 1, rejected = 4, expanded = 1 }
    visits = { verifier = 5, repairer = 0 }
    calls  = { crafter = 0, verifier = 0 }
  }
}

test "a card of music goes to the other crafter" {
  given = [{ cat = "music", diff = "easy", batch = 9 }]
  mock {
    stage  = stage.topic_miner
    output = { cat = "music", diff = "easy", topics = [for t in titles : { cat = "music", diff = "easy", title = t, angle = "what it is" }] }
  }
  mock {
    stage  = stage.mme_crafter
    output = card
  }
  expect {
    route = [stage.mme_crafter, stage.verifier]
  }
}

test "a repair is made once, and the card verified anew" {
  given = [batch]
  mock {
    stage  = stage.verifier
    if     = meant && pass == 1
    output = merge(report, { status = "repair", repair_fields = ["x"] })
  }
  mock {
    stage  = stage.verifier
    if     = meant
    output = report
  }
  mock {
    stage  = stage.repairer
    output = merge(item, { x = "Its lake is named after Walter Burley Griffin." })
  }
  expect {
    where   = meant
    route   = [stage.crafter, stage.verifier, stage.repairer, stage.verifier, gate.accept]
    outcome = { verifier = ["repair", "accept"] }
    end     = "accepted"
    visits  = { verifier = 2, repairer = 1 }
    assert {
      condition = record.x == "Its lake is named after Walter Burley Griffin."
      message   = "what is accepted is not the repaired card"
    }
  }
}

test "a second repair is not made" {
  given = [batch]
  mock {
    stage  = stage.verifier
    if     = meant
    output = merge(report, { status = "repair", repair_fields = ["x"] })
  }
  mock {
    stage  = stage.repairer
    output = merge(item, { x = "It was founded in 1913." })
  }
  expect {
    where   = meant
    route   = [stage.crafter, stage.verifier, stage.repairer, stage.verifier]
    outcome = { verifier = ["repair", "repair"] }
    end     = "failed"
    status  = "repair"
    code    = null
  }
}

test "a repair keeps to the fields that the report names" {
  given = [batch]
  mock {
    stage  = stage.verifier
    if     = meant
    output = merge(report, { status = "repair", repair_fields = ["x"] })
  }
  mock {
    stage  = stage.repairer
    output = merge(item, { x = "It was founded in 1913.", q = "Which city is the capital of Australia?" })
  }
  expect {
    where = meant
    route = [stage.crafter, stage.verifier, stage.repairer]
    end   = "failed"
    code  = failure.R_SCHEMA
    cause = "E_MASK"
    assert { condition = failed.repairer.code == "R_SCHEMA" && finding.R_SCHEMA == null }
  }
}

test "a repair changes something" {
  given = [batch]
  mock {
    stage  = stage.verifier
    if     = meant
    output = merge(report, { status = "repair", repair_fields = ["x"] })
  }
  mock {
    stage  = stage.repairer
    output = item
  }
  expect {
    where  = meant
    end    = "failed"
    code   = failure.R_SCHEMA
    cause  = "E_MASK"
    visits = { verifier = 1 }
  }
}

test "who abstains is not asked again" {
  given = [batch]
  mock {
    stage  = stage.verifier
    output = merge(report, { status = "abstain" })
  }
  expect {
    count  = 5
    route  = [stage.crafter, stage.verifier]
    end    = "rejected"
    status = "abstain"
  }
}

test "a draft that is cut off fails, and the report is asked for no more" {
  given = [batch]
  mock {
    stage   = stage.crafter
    code    = "E_TRUNCATED"
    message = "the answer was cut off"
  }
  expect {
    count   = 5
    route   = [stage.crafter]
    outcome = { crafter = null, verifier = null }
    end     = "failed"
    code    = failure.R_SCHEMA
    cause   = "E_TRUNCATED"
    triage  = "accept"
  }
}

test "a batch of four topics is refused whole" {
  given = [batch]
  mock {
    stage  = stage.topic_miner
    output = merge(mined, { topics = slice(mined.topics, 0, 4) })
  }
  expect {
    item  = "geography/medium/9"
    route = [stage.topic_miner]
    end   = "failed"
    code  = failure.R_SCHEMA
    cause = "E_FAN_OUT"
  }
  total {
    items  = 1
    visits = { crafter = 0 }
  }
}

test "a batch of no category is no batch" {
  given = [{ cat = "gossip", diff = "medium", batch = 1 }]
  expect {
    route = []
    end   = "failed"
    code  = failure.R_SCHEMA
    cause = "E_INPUT"
  }
}

test "the gate looks at the card whatever the report says" {
  given = [batch]
  mock {
    stage  = stage.crafter
    if     = item.title == "Spare one" # the answer stands in the question
    output = merge(card, { q = "Is Canberra the capital of Australia or of Austria?" })
  }
  mock {
    stage  = stage.crafter
    if     = item.title == "Spare two" # two choices are one letter apart
    output = merge(card, { w = ["Sydney", "Sidney", "Perth"] })
  }
  mock {
    stage  = stage.crafter
    if     = item.title == "Spare three" # an explainer of 21 words
    output = merge(card, { x = join(" ", [for n in range(21) : "word"]) })
  }
  mock {
    stage  = stage.crafter
    if     = item.title == "Spare four" # it ages
    output = merge(card, { q = "Which city is currently the capital of Australia?" })
  }
  mock {
    stage  = stage.crafter
    output = merge(card, { topic_id = "t-000000000000" })
  }
  mock {
    stage  = stage.verifier
    output = report
  }
  expect {
    where  = artifact.topic_miner.title == "Spare one"
    code   = failure.R_ANSWER_LEAK
    checks = { leak = "failed", live = null }
  }
  expect {
    where = artifact.topic_miner.title == "Spare two"
    code  = failure.R_CHOICES
  }
  expect {
    where   = artifact.topic_miner.title == "Spare three"
    code    = failure.R_EXPLAINER_LENGTH
    figures = { words = 21, R_EXPLAINER_LENGTH = 21 }
  }
  expect {
    where = artifact.topic_miner.title == "Spare four"
    code  = failure.R_UNSTABLE
  }
  expect {
    where  = meant # of another topic: nothing more is asked
    code   = failure.R_SCHEMA
    checks = { schema = "held", leak = null }
  }
  expect {
    route  = [stage.crafter, stage.verifier, gate.accept]
    end    = "rejected"
    triage = "reject"
  }
}

test "an accept with a doubt in it is none" {
  given = [batch]
  mock {
    stage  = stage.verifier
    if     = artifact.topic_miner.title == "Spare one"
    output = merge(report, { unique_answer = false })
  }
  mock {
    stage  = stage.verifier
    if     = artifact.topic_miner.title == "Spare two"
    output = merge(report, { disproof = { tried = ["a look"], found = true } })
  }
  mock {
    stage  = stage.verifier
    output = merge(report, { codes = ["R_CHOICES"] })
  }
  expect {
    count = 5
    end   = "rejected"
    codes = [failure.R_SCHEMA]
    assert { condition = message == "the report is not a clean accept" }
  }
}

test "sources are two, of two houses, and alive" {
  given = [batch]
  mock {
    stage  = stage.verifier
    if     = artifact.topic_miner.title == "Spare one"
    output = merge(report, { sources = slice(report.sources, 0, 1) })
  }
  mock {
    stage  = stage.verifier
    if     = artifact.topic_miner.title == "Spare two"
    output = merge(report, { sources = [for u in ["https://en.wikipedia.org/wiki/Canberra", "https://de.wikipedia.org/wiki/Canberra"] : merge(report.sources[0], { url = u })] })
  }
  mock {
    stage  = stage.verifier
    if     = artifact.topic_miner.title == "Spare three" # two names that lead to one house
    output = merge(report, { sources = [for u in ["https://go.example.org/bell-labs-1947", "https://links.example.com/point-contact-transistor"] : merge(report.sources[0], { url = u })] })
  }
  mock {
    stage  = stage.verifier
    if     = artifact.topic_miner.title == "Spare four"
    output = merge(report, { sources = [report.sources[1], merge(report.sources[0], { url = "https://www.britannica.com/sports/Wimbledon-Championships" })] })
  }
  expect {
    where   = artifact.topic_miner.title == "Spare one"
    code    = failure.R_UNPROVABLE
    figures = { sources = 1 }
  }
  expect {
    where  = artifact.topic_miner.title == "Spare two"
    code   = failure.R_SRC_LAUNDER
    checks = { unrelated = "failed", live = null }
  }
  expect {
    where  = artifact.topic_miner.title == "Spare three"
    code   = failure.R_SRC_LAUNDER
    checks = { live = "held", unrelated = "failed" }
  }
  expect {
    where  = artifact.topic_miner.title == "Spare four"
    code   = failure.R_SRC_DEAD
    checks = { live = "failed", unique = null }
  }
}

test "of two equal questions the first is kept" {
  given = [batch]
  mock {
    stage  = stage.crafter
    if     = item.title == "Spare two"
    output = merge(card, { q = "Which city of Australia was built as the capital?" })
  }
  mock {
    stage  = stage.verifier
    if     = contains(["Canberra", "Spare one", "Spare two"], artifact.topic_miner.title)
    output = report
  }
  expect {
    where = meant
    end   = "accepted"
  }
  expect {
    where  = artifact.topic_miner.title == "Spare one"
    end    = "rejected"
    codes  = [failure.R_DUP_EXACT]
    checks = { unique = "failed" }
  }
  expect {
    where   = artifact.topic_miner.title == "Spare two"
    end     = "rejected"
    codes   = [failure.R_DUP_NEAR]
    figures = { novel = 1 }
  }
}
