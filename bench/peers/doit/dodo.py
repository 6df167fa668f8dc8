"""Five steps an item, each a Python function of doit's process: read a file,
decode it, set one member, encode it, write a file. doit keeps what was done in
its own database, and looks at the content of a file (MD5) to know it again."""
import json, os

DOIT_CONFIG = {"check_file_uptodate": "md5", "backend": "sqlite3"}


def mark(source, target, stage):
    with open(source) as f:
        document = json.load(f)
    document["stage"] = stage
    with open(target, "w") as f:
        json.dump(document, f)


def task_step():
    for file in sorted(os.listdir("src")):
        for k in range(1, 6):
            source, target = "%s/%s" % ("s%d" % (k - 1) if k > 1 else "src", file), "s%d/%s" % (k, file)
            yield {"name": target, "actions": [(mark, [source, target, k])], "file_dep": [source], "targets": [target]}
