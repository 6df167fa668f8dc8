#!/bin/sh
# Penstock. peer.sh install|gen|cmd|cmd-plan|cmd-why|cmd-why-visit|cmd-validate|cmd-gc|edit|reset|reset-known|reset-corpus WORKDIR N [SEED]; N is steps for w2 and w2schema
# (N/5 items), items for all others. WL (environment) names the workload: w2 (default), w2schema, w4, w4checks, wide.
# edit WORKDIR N ITEM REVISION changes one item's text.
set -eu
verb=$1; W=$2; N=${3:-1000}; SEED=${4:-42}; H=$(cd "$(dirname "$0")" && pwd); WL=${WL:-w2}
case $WL in
w2) ITEMS=$((N / 5)); D=$W/penstock/n$N ;;
w2schema) ITEMS=$((N / 5)); D=$W/penstock/w2schema-$N ;;
*) ITEMS=$N; D=$W/penstock/$WL-$N ;;
esac
case $verb in
install) mkdir -p "$W/bin" && cd "$H/../.." && go build -trimpath -ldflags "-s -w" -o "$W/bin/" ./cmd/penstock && go build -trimpath -ldflags "-s -w" -o "$W/bin/penstock-bench-plugin" ./bench/penstock/plugin ;;
gen) python3 "$H/gen.py" "$WL" "$D" "$ITEMS" "$SEED"; cp "$W/bin/penstock-bench-plugin" "$D/plugin" ;;
cmd) echo "$W/bin/penstock -C $D run -j 256" ;;
cmd-plan) echo "$W/bin/penstock -C $D plan" ;;
cmd-why) echo "$W/bin/penstock -C $D why items.jsonl:1" ;;
cmd-why-visit) echo "$W/bin/penstock -C $D why s5[items.jsonl:1]" ;;
cmd-validate) echo "$W/bin/penstock -C $D validate" ;;
cmd-gc) echo "$W/bin/penstock -C $D gc --max-age 1s" ;;
edit) python3 "$H/gen.py" edit "$D" "$4" "$5" ;;
reset) rm -rf "$D/staging" "$D/data" "$D/meta" "$D/.decisions" ;;
reset-corpus) rm -rf "$D/data" "$D/meta" "$D/.decisions" ;;
reset-known) # but the plugin's description is still known
	rm -rf "$D/data" "$D/meta" "$D/.decisions"
	find "$D/staging" -mindepth 1 ! -name memo.json -delete
	;;
*) echo "peer.sh: no verb $verb" >&2; exit 2 ;;
esac
