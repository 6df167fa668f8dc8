#!/bin/sh
# find -delete. peer.sh install|gen|cmd|reset WORKDIR N [SEED]; N is files of one document each. reset makes them anew.
set -eu
verb=$1; W=$2; N=${3:-1000}; SEED=${4:-42}; H=$(cd "$(dirname "$0")" && pwd); D=$W/find/n$N
case $verb in
install) command -v find split >/dev/null ;;
gen) mkdir -p "$D" && PYTHONPATH="$H/../.." python3 -B -c 'import sys, workload; workload.lines(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))' "$D/items.jsonl" "$N" "$SEED" ;;
cmd) echo "find $D/out -type f -delete" ;;
reset) rm -rf "$D/out"; mkdir "$D/out"; cd "$D/out" && split -l 1 -a 6 -d ../items.jsonl i ;;
*) echo "peer.sh: no verb $verb" >&2; exit 2 ;;
esac
