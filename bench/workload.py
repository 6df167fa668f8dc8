"""The documents of the benchmark, the same for Penstock and its peers.

An item is a JSON object of 2048 bytes, a pure function of (seed, number): id,
category a|b|c, quality in [0,1) with six digits, text. Sources are one JSONL
file for those that read lines, and a file an item for those that read files.
"""
import hashlib, os, random, shutil

SIZE = 2048
STAGES = ["s1", "s2", "s3", "s4", "s5"]
WORDS = [hashlib.sha256(b"w%d" % i).hexdigest()[: 3 + i % 7] for i in range(512)]


def name(i):
    return "i%06d" % i


def drawn(i, seed):
    r = random.Random("%d:%d" % (seed, i))
    return "abc"[r.randrange(3)], "%.6f" % (r.randrange(1000000) / 1e6), r


def item(i, seed, revision=0):
    category, quality, r = drawn(i, seed)
    head = '{"id":"%s","category":"%s","quality":%s,"text":"t%06d ' % (name(i), category, quality, revision)
    tail = '"}'
    room = SIZE - len(head) - len(tail)
    return head + " ".join(r.choices(WORDS, k=room // 4 + 2))[:room] + tail


def revise(text, revision):
    """Another text of the same size."""
    at = text.index('"text":"t') + len('"text":"t')
    return text[:at] + "%06d" % revision + text[at + 6 :]


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def lines(path, n, seed):
    with open(path, "w") as f:
        for i in range(n):
            f.write(item(i, seed) + "\n")


def files(d, n, seed):
    """DIR/src with a file an item, and empty folders for what five stages make."""
    for folder in ["src"] + STAGES:
        os.makedirs(os.path.join(d, folder), exist_ok=True)
    for i in range(n):
        write(os.path.join(d, "src", name(i) + ".json"), item(i, seed) + "\n")


def clean(d):
    for stage in STAGES:
        shutil.rmtree(os.path.join(d, stage), ignore_errors=True)
        os.makedirs(os.path.join(d, stage))


def expected(n, seed):
    """How many of the loop's items are repaired, and how many are accepted."""
    repaired = accepted = 0
    for i in range(n):
        quality = float(drawn(i, seed)[1])
        repaired += quality < 0.5
        accepted += quality >= 0.5 or quality + 0.3 >= 0.5
    return repaired, accepted
