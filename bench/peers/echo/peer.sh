#!/bin/sh
# The machine's own price: a windowed gRPC stream echo of 2 KB. peer.sh install|gen|cmd|reset WORKDIR N; N is documents.
set -eu
verb=$1; W=$2; N=${3:-1000}; H=$(cd "$(dirname "$0")" && pwd)
case $verb in
install) mkdir -p "$W/bin"; cd "$H" && go build -o "$W/bin/echo-peer" . ;;
cmd) echo "$W/bin/echo-peer -n $N -window 256" ;;
cmd-64) echo "$W/bin/echo-peer -n $N -window 64" ;;
gen | reset) ;;
*) echo "peer.sh: no verb $verb" >&2; exit 2 ;;
esac
