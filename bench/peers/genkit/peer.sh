#!/bin/sh
# Genkit for Go, in process. peer.sh install|gen|cmd|cmd-bare WORKDIR N [SEED]; N is items. cmd-bare is the same
# work in a plain loop, without Genkit.
set -eu
verb=$1; W=$2; N=${3:-1000}; SEED=${4:-42}; H=$(cd "$(dirname "$0")" && pwd); D=$W/genkit/n$N
case $verb in
install) mkdir -p "$W/bin"; cd "$H" && go build -o "$W/bin/genkit-peer" . ;;
gen) mkdir -p "$D"; PYTHONPATH=$H/../.. python3 -c "import workload; workload.lines('$D/items.jsonl', $N, $SEED)" ;;
cmd) echo "$W/bin/genkit-peer $D/items.jsonl" ;;
cmd-bare) echo "$W/bin/genkit-peer -bare $D/items.jsonl" ;;
reset) ;;
*) echo "peer.sh: no verb $verb" >&2; exit 2 ;;
esac
