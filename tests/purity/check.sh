#!/bin/sh
# check.sh LIBRARY [LIBRARY-IT-MAY-CALL...]: proves by its symbols that a static library is pure.
#   - Whatever it imports is on allowed.txt, or defined by a library it may call.
#   - It has no writable globals: no symbol in a writable section.
# What sanitizers and the fuzzer add is left out of the account. Prints each offence; exit code 1 if
# there is one, 2 if the library cannot be read.
set -u
export LC_ALL=C
library=$1
shift
allowed=$(dirname "$0")/allowed.txt
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# Symbol, class (nm's letter), section. Names with blanks do not occur in C.
symbols()
{
    nm --format=sysv "$@" 2>"$work/errors" | awk -F'|' '
        NF >= 7 { gsub(/ /, "", $1); gsub(/ /, "", $3); gsub(/ /, "", $7); print $1, $3, $7 }'
}

instrumentation='^(__asan_|__ubsan_|__tsan_|__sanitizer_|__sancov|__start___sancov|__stop___sancov|asan\.|sancov\.|tsan\.|__odr_asan|___asan_|_?\.?Lubsan_|__unnamed_[0-9])'

symbols "$library" | grep -Ev "$instrumentation" >"$work/symbols"
if ! [ -s "$work/symbols" ]; then
    echo "$library: no symbols: $(cat "$work/errors")" >&2
    exit 2
fi

grep -Ev '^(#|$)' "$allowed" >"$work/allowed"
symbols "$library" "$@" | awk '$2 ~ /^[TRDBVWi]$/ { print $1 }' | sort -u >"$work/defined"
awk '$2 ~ /^[Uwv]$/ { print $1 }' "$work/symbols" | sort -u |
    comm -23 - "$work/defined" | grep -Evx -f "$work/allowed" |
    sed 's/.*/imports & (see allowed.txt)/' >"$work/offences"
# Constant tables of pointers stand in .data.rel.ro, which the loader makes read-only.
awk '$2 ~ /^[dDbBsSgGC]$/ && $3 !~ /^(\.data\.rel\.ro|__sancov|\.note|asan_|__llvm)/ { print $1, $3 }' \
    "$work/symbols" | sort -u | sed 's/\(.*\) \(.*\)/has a writable global, \1 in \2/' >>"$work/offences"

if [ -s "$work/offences" ]; then
    sed "s|^|$(basename "$library") |" "$work/offences" >&2
    exit 1
fi
echo "$(basename "$library"): $(awk '$2 == "U"' "$work/symbols" | sort -u | wc -l) imports, all allowed"
