#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `make dist`: the files of git's HEAD, the same bytes for each user and time, and a checksum next to it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"
export MAKEFLAGS=''

if ! git rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
	skip dist "optional: git has no commit of this tree"
	finish
fi
tree=$scratch/tree
git clone --quiet --shared . "$tree" 2>"$scratch/log" || not_ok dist-clone "$(cat "$scratch/log")"
archive=$tree/$(make --no-print-directory -s -C "$tree" dist 2>"$scratch/log") ||
	not_ok dist-runs "$(cat "$scratch/log")"
cp "$archive" "$scratch/first"
check dist-checksum "$(cd "$tree/build/dist" && sha256sum --check --quiet ./*.sha256 2>&1)"
check dist-is-head "$(tar -tzf "$archive" | sed 's|^[^/]*/||' | grep -v '\(^\|/\)$' | sort |
	diff - <(git -C "$tree" ls-files | sort))"

# A release has nothing next to it.
check dist-stands-alone "$(cd "$tree" && git grep -nE '[.][.]/shared|GBE_[S]AMPLES' -- ':!NEWS.md' | cut -c1-200)"
check dist-samples-are-small "$(du -cb "$tree"/tests/data/etcd/*.xz | awk 'END { if ($1 > 4194304) print $1 " bytes" }')"

find "$tree" -path "$tree/.git" -prune -o -type f -exec touch -d @0 {} +
git -C "$tree" config tar.umask 0077
(umask 077 && TZ=Asia/Tokyo make --no-print-directory -s -C "$tree" dist >"$scratch/log" 2>&1)
check dist-is-reproducible "$(cmp "$archive" "$scratch/first" 2>&1)"

echo more >>"$tree/README.md"
make --no-print-directory -s -C "$tree" dist >"$scratch/log" 2>&1 &&
	not_ok dist-wants-a-commit "it packs what is not committed, or leaves it out" || ok dist-wants-a-commit
finish
