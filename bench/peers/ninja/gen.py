#!/usr/bin/env python3
"""Ninja's folder: gen.py DIR ITEMS SEED. Five copies an item, one of another.

A first run of 100,000 steps costs minutes of processes and is not what is
measured here, so the outputs are written as that run would leave them, and its
log with them (version 5, as ninja 1.10 to 1.11 writes it). peer.sh asks ninja
whether it agrees, and has it do the run where it does not.
"""
import os, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
import workload

M64 = (1 << 64) - 1


def murmur64a(data, seed=0xDECAFBADDECAFBAD):
    m, r = 0xC6A4A7935BD1E995, 47
    h = seed ^ (len(data) * m & M64)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        k = int.from_bytes(data[at : at + 8], "little") * m & M64
        k = (k ^ k >> r) * m & M64
        h = (h ^ k) * m & M64
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & M64
    h = (h ^ h >> r) * m & M64
    return h ^ h >> r


def steps(n):
    for i in range(n):
        file = workload.name(i) + ".json"
        for k, stage in enumerate(workload.STAGES):
            yield "%s/%s" % (workload.STAGES[k - 1] if k else "src", file), "%s/%s" % (stage, file)


def main(d, n, seed):
    workload.files(d, n, seed)
    with open(d + "/build.ninja", "w") as f:
        f.write("rule copy\n  command = cp $in $out\n")
        for source, target in steps(n):
            f.write("build %s: copy %s\n" % (target, source))
    for i in range(n):
        text = workload.item(i, seed) + "\n"
        for stage in workload.STAGES:
            workload.write("%s/%s/%s.json" % (d, stage, workload.name(i)), text)
    now = time.time_ns()
    with open(d + "/.ninja_log", "w") as f:
        f.write("# ninja log v5\n")
        for source, target in steps(n):
            f.write("0\t1\t%d\t%s\t%x\n" % (now, target, murmur64a(b"cp %s %s" % (source.encode(), target.encode()))))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
