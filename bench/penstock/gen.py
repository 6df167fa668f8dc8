#!/usr/bin/env python3
"""The benchmark's workloads for Penstock: gen.py w2|w2schema|w4|w4checks|wide DIR N [SEED].

An item is a JSON object of 2048 bytes, a pure function of (seed, number): id,
category a|b|c, quality in [0,1) with six digits, text. w2: five stages that set
one field each. w4: route by category, verify (quality >= 0.5), repair once
(+0.3), verify again, accept. wide: fifty stages, to be validated. N is items.
"""
import hashlib, os, random, sys

SIZE = 2048
WORDS = [hashlib.sha256(b"w%d" % i).hexdigest()[: 3 + i % 7] for i in range(512)]


def item(i, seed, revision=0):
    r = random.Random("%d:%d" % (seed, i))
    cat, quality = "abc"[r.randrange(3)], "%.6f" % (r.randrange(1000000) / 1e6)
    head = '{"id":"i%06d","category":"%s","quality":%s,"text":"t%06d ' % (i, cat, quality, revision)
    tail = '"}'
    room = SIZE - len(head) - len(tail)
    return head + " ".join(r.choices(WORDS, k=room // 4 + 2))[:room] + tail


HEAD = '''pipeline "bench" {
  description = "The workload of bench/, form %(form)s."
}

plugin "bench" { source = "./plugin" }

source "items" {
  files  = ["items.jsonl"]
  schema = "item.json"
}
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


W4 = '''
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
%(schema)s}

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
%(schema)s}

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
%s}
'''


def pipeline(form):
    schema = form in ("w2schema", "w4", "w4checks")
    out = HEAD % {"form": form}
    if form in ("w2", "w2schema"):
        out += chain(5, schema)
    elif form == "wide":
        out += chain(50, True)
    else:
        line = '  output { schema = "out.json" }\n'
        line = "" if form == "w4" else line
        out += W4 % {"routes": "".join(ROUTE % (c, c, line) for c in "abc"), "schema": line}
    checks = CHECKS % "out.json" if form == "w4checks" else ""
    return out + (BAD if checks else "") + GATE % {"bucket": "all", "checks": checks}


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def main(form, d, n, seed=42):
    n, seed = int(n), int(seed)
    os.makedirs(d, exist_ok=True)
    write(d + "/pipeline.hcl", pipeline(form))
    write(d + "/item.json", ITEM % "")
    write(d + "/out.json", ITEM % MORE)
    with open(d + "/items.jsonl", "w") as f:
        for i in range(n):
            f.write(item(i, seed) + "\n")


def edit(d, number, revision):
    """Change one item's text; its size stays."""
    path = d + "/items.jsonl"
    lines = open(path).read().split("\n")
    i = int(number)
    at = lines[i].index('"text":"t') + len('"text":"t')
    lines[i] = lines[i][:at] + "%06d" % int(revision) + lines[i][at + 6 :]
    write(path, "\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["edit"]:
        edit(*sys.argv[2:])
    elif len(sys.argv) > 3:
        main(*sys.argv[1:])
    else:
        sys.exit(__doc__)
