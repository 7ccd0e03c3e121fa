#!/usr/bin/env bash
# security.sh ROOT COMMAND - the commands of docs/security.md are run as they stand there; then three nodes use what they have made, over
# TLS and with the key, and a node with another's files is turned down. COMMAND is the `whorl` that was built.

set -euo pipefail

root=$(cd "$1" && pwd)
command=$(readlink -f "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# blocks LANGUAGE: what stands between ```LANGUAGE and ```
blocks() { awk -v begin="\`\`\`$1" '$0 == begin { inside = 1; next } $0 == "```" { inside = 0 } inside' "$root/docs/security.md"; }

blocks sh >commands
[ -s commands ] || { echo "docs/security.md has no commands"; exit 1; }
bash -eu commands >log 2>&1 || { cat log; exit 1; }

{
	blocks ini # [group], twice
	printf '[group]\ntransport = tcp\nnodes = 3\nfailure_timeout_ms = 10000\n[subgroup orders]\n'
	printf '[bench]\nmessages = 100\nbytes = 1000\nruns = 1\nlimit = off\n'
} | awk '$0 == "[group]" { if (n++) next } { print }' >group.ini

"$command" bench group.ini >log 2>&1 || { cat log; exit 1; }
if timeout 20 "$command" node group.ini --id 1 --set group.tls_certificate_file=node-2.pem --set group.tls_key_file=node-2.key >log 2>&1; then
	echo "node 1 starts with the certificate of node 2"
	exit 1
fi
grep -q 'node-2.pem has whorl://play/2, expected whorl://play/1' log || { cat log; exit 1; }
