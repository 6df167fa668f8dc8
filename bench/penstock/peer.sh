#!/bin/sh
# Penstock. peer.sh install|gen|cmd|cmd-FORM|reset WORKDIR N [SEED]; N is steps for w1, w2 and w3 (N/5 items),
# items for w4. WL (environment) names the workload: w2 (default), w2schema, w4, w4checks.
set -eu
verb=$1; W=$2; N=${3:-1000}; SEED=${4:-42}; H=$(cd "$(dirname "$0")" && pwd); WL=${WL:-w2}
case $WL in w4*) ITEMS=$N ;; *) ITEMS=$((N / 5)) ;; esac
D=$W/penstock/$WL-n$N
case $verb in
install) mkdir -p "$W/bin" && cd "$H/../.." && go build -o "$W/bin/penstock" ./cmd/penstock && go build -o "$W/bin/penstock-bench-plugin" ./bench/penstock/plugin ;;
gen) python3 "$H/gen.py" "$WL" "$D" "$ITEMS" "$SEED"; cp "$W/bin/penstock-bench-plugin" "$D/plugin" ;;
cmd) echo "$W/bin/penstock -C $D run -j 256" ;;
cmd-plan) echo "$W/bin/penstock -C $D plan" ;;
reset) rm -rf "$D/staging" "$D/data" "$D/meta" "$D/.decisions" ;;
*) echo "peer.sh: no verb $verb" >&2; exit 2 ;;
esac
