#!/usr/bin/env bash
# facts.sh OURS DEBIANS - the two say the same.

set -euo pipefail

diff -u <("$2") <("$1") || { echo "facts: the headers differ from Debian's (-)" >&2; exit 1; }
[ "$("$1" | wc -l)" -gt 300 ]
