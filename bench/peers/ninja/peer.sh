#!/bin/sh
# Ninja. peer.sh install|gen|cmd|edit|reset WORKDIR N [SEED]; N is steps (N/5 items). After gen everything is up
# to date. edit WORKDIR N ITEM REVISION changes one item's text.
set -eu
verb=$1; W=$2; N=${3:-1000}; SEED=${4:-42}; H=$(cd "$(dirname "$0")" && pwd); D=$W/ninja/n$N
case $verb in
install) command -v ninja >/dev/null || { apt-get update -qq; apt-get install -y -qq ninja-build; } ;;
gen)
	mkdir -p "$D" && python3 "$H/gen.py" "$D" "$((N / 5))" "$SEED"
	ninja -C "$D" -n | grep -q 'no work to do' || ninja -C "$D" --quiet
	;;
cmd) echo "ninja -C $D -j2 --quiet" ;;
edit) sed -i "s/\"text\":\"t[0-9]*/\"text\":\"t$(printf %06d "$5")/" "$D/src/$(printf i%06d "$4").json" ;;
reset) for k in 1 2 3 4 5; do rm -rf "$D/s$k"; mkdir "$D/s$k"; done; rm -f "$D/.ninja_log" "$D/.ninja_deps" ;;
*) echo "peer.sh: no verb $verb" >&2; exit 2 ;;
esac
