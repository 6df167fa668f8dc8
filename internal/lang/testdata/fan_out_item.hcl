#! without base
# What a fan-out picks of the item is typed, too: through rules that let it
# pass, and a second fan-out behind the first.
pipeline "p" {}
source "s" {
  files  = ["data/topics.jsonl"]
  schema = "schemas/tree.json"
}
stage "split" {
  decide {
    else { outcome = "ok" }
  }
  fan_out {
    each = item.parts == null ? [] : item.parts
    key  = each.id
  }
}
stage "again" {
  decide {
    else { outcome = "ok" }
  }
  fan_out {
    each = (item.parts == null ? [] : item.parts)
    key  = "${each.id}-${each.idd}"
  }
}
stage "last" {
  decide {
    else {
      outcome = "ok"
      output  = { id = item.id, part = artifact.split.idd, own = artifact.again.part }
    }
  }
}
route "split" {
  from = stage.split
  to   = stage.again
}
route "again" {
  from = stage.again
  when {
    if = output.parst == null
    to = stage.last
  }
  else { to = stage.last }
}
route "last" {
  from = stage.last
  to   = gate.g
}
gate "g" {
  candidate = { card = item }
  corpus "jsonl" {
    data     = "data/all.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
