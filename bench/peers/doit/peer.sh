#!/bin/sh
# doit, steps as Python functions. peer.sh install|gen|cmd|reset WORKDIR N [SEED]; N is steps (N/5 items).
set -eu
verb=$1; W=$2; N=${3:-1000}; SEED=${4:-42}; H=$(cd "$(dirname "$0")" && pwd); D=$W/doit/n$N
py() { PYTHONPATH=$H/../.. python3 -c "import workload; $1"; }
case $verb in
install) command -v doit >/dev/null || { apt-get update -qq; apt-get install -y -qq python3-doit; } ;;
gen) mkdir -p "$D"; py "workload.files('$D', $N // 5, $SEED)"; cp "$H/dodo.py" "$D/" ;;
cmd) echo "doit run -d $D -f $D/dodo.py -v0 -r zero --db-file $D/.doit.db" ;;
reset) py "workload.clean('$D')"; rm -f "$D"/.doit* ;;
*) echo "peer.sh: no verb $verb" >&2; exit 2 ;;
esac
