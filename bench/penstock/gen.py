#!/usr/bin/env python3
"""The benchmark's pipelines for Penstock: gen.py FORM DIR N [SEED], or gen.py edit DIR ITEM REVISION.

w2: five stages that set one member each. w2schema: the same with a schema for
the items and for each output. w4: route by category, verify (quality >= 0.5), repair once (+0.3),
verify again, accept. w4checks: the same with the checks "schema" and "unique" at
the gate. wide: fifty stages, to be validated. N is items.
"""
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import workload
from workload import write


HEAD = '''pipeline "bench" {
  description = "The workload of bench/, form %(form)s."
}

plugin "bench" { source = "./plugin" }

source "items" {
  files = ["items.jsonl"]
%(schema)s}
'''

BAD = '''
failure "R_BAD" { meaning = "The item does not pass." }
'''

GATE = '''
gate "accept" {
  bucket    = "all/%(bucket)s"
  candidate = { card = item }
%(checks)s
  corpus "jsonl" {
    data     = "data/${bucket}.jsonl"
    evidence = "meta/evidence.jsonl"
    record   = card
  }
}
'''

CHECKS = '''
  check "schema" {
    code   = failure.R_BAD
    value  = card
    schema = "%s"
  }
  check "unique" {
    code = failure.R_BAD
    keys = [card.id]
  }
'''

ITEM = '''{"type":"object","required":["id","category","quality","text"],"additionalProperties":false,"properties":{
"id":{"type":"string"},"category":{"enum":["a","b","c"]},"quality":{"type":"number","minimum":0,"maximum":2},"text":{"type":"string"}%s}}
'''
MORE = ',\n"stage":{"type":"integer"},"routed":{"type":"string"},"ok":{"type":"boolean"},"repaired":{"type":"boolean"}'


def chain(n, schema):
    out = ""
    for k in range(1, n + 1):
        out += '''
stage "s%d" {
  plugin = plugin.bench
  config {
    step   = "mark"
    number = %d
  }
%s}

route "r%d" {
  from = stage.s%d
  to   = %s
}
''' % (k, k, '  output { schema = "out.json" }\n' if schema else "", k, k, "stage.s%d" % (k + 1) if k < n else "gate.accept")
    return out


LOOP = '''
stage "intake" {
  decide {
    else { outcome = "ok" }
  }
}

route "category" {
  from = stage.intake
  when {
    if = item.category == "a"
    to = stage.route_a
  }
  when {
    if = item.category == "b"
    to = stage.route_b
  }
  else { to = stage.route_c }
}
%(routes)s
route "drafted" {
  from = [stage.route_a, stage.route_b, stage.route_c]
  to   = stage.verify
}

stage "verify" {
  plugin = plugin.bench
  config { step = "verify" }
}

route "verdict" {
  from = stage.verify
  when {
    if = item.ok
    to = gate.accept
  }
  else {
    to  = stage.repair
    max = 1
    exhausted { stop = "rejected" }
  }
}

stage "repair" {
  plugin = plugin.bench
  config { step = "repair" }
}

route "repaired" {
  from = stage.repair
  to   = stage.verify
}
'''

ROUTE = '''
stage "route_%s" {
  plugin = plugin.bench
  config {
    step = "route"
    word = "%s"
  }
}
'''


def pipeline(form):
    typed = "" if form == "w2" else '  schema = "item.json"\n'
    out = HEAD % {"form": form, "schema": typed}
    if form in ("w2", "w2schema"):
        out += chain(5, form == "w2schema")
    elif form == "wide":
        out += chain(50, True)
    elif form in ("w4", "w4checks"):
        out += LOOP % {"routes": "".join(ROUTE % (c, c) for c in "abc")}
    else:
        sys.exit("gen.py: no form " + form)
    checks = CHECKS % "out.json" if form == "w4checks" else ""
    return out + (BAD if checks else "") + GATE % {"bucket": "all", "checks": checks}


def main(form, d, n, seed=42):
    os.makedirs(d, exist_ok=True)
    write(d + "/pipeline.hcl", pipeline(form))
    write(d + "/item.json", ITEM % "")
    write(d + "/out.json", ITEM % MORE)
    workload.lines(d + "/items.jsonl", int(n), int(seed))


def edit(d, number, revision):
    """Change one item's text; its size stays."""
    path, i = d + "/items.jsonl", int(number)
    with open(path) as f:
        lines = f.read().split("\n")
    lines[i] = workload.revise(lines[i], int(revision))
    write(path, "\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["edit"]:
        edit(*sys.argv[2:])
    elif len(sys.argv) > 3:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
