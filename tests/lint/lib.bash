# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The checks of tests/lint source this. A check prints a line for each thing that it looked at: "ok NAME" or
# "not ok NAME: why". The last command of a check is "finish".
set -u
export LC_ALL=C.UTF-8

TOP=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
BUILD=${BUILD:-$TOP/build/default}
PROGRAMS=${PROGRAMS-store certs cluster}
cd "$TOP" || exit 1
failures=0

# shellcheck disable=SC2034 # for the checks
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

ok() {
	echo "ok $1"
}

not_ok() {
	echo "not ok $1: $2"
	failures=$((failures + 1))
}

skip() {
	echo "skip $1: $2"
}

# check NAME FINDINGS: "ok" if FINDINGS is empty. Of many findings the first ten are shown.
check() {
	local name=$1 found=$2

	if [ -z "$found" ]; then
		ok "$name"
	else
		not_ok "$name" "$(head -n 10 <<<"$found" | tr '\n' ';' | sed 's/;$//')"
	fi
}

# check_each NAME COMMAND FILE...: COMMAND gets all files at once, and prints "FILE:LINE: WHAT" for each finding. Each
# file is a case of its own.
check_each() {
	local name=$1 command=$2 path line
	local -A findings=()

	shift 2
	while IFS= read -r line; do
		path=${line%%:*}
		findings[$path]+=$line$'\n'
	done < <("$command" "$@")
	for path in "$@"; do
		check "$name-$path" "${findings[$path]:-}"
		unset "findings[$path]"
	done
	# Findings about other files are also reported.
	for path in "${!findings[@]}"; do
		not_ok "$name" "${findings[$path]%$'\n'}"
	done
}

finish() {
	[ "$failures" -eq 0 ]
	exit
}

# The project's files whose whole path matches one of the given shell patterns. Without git (a tarball) these are all
# files except the build's.
files() {
	local pattern path

	while IFS= read -r path; do
		[ -f "$path" ] || continue
		for pattern in "$@"; do
			# shellcheck disable=SC2053 # a pattern
			if [[ $path == $pattern ]]; then
				printf '%s\n' "$path"
				break
			fi
		done
	done < <(git ls-files --cached --others --exclude-standard 2>/dev/null ||
		find . -path ./build -prune -o -path ./.git -prune -o -type f -printf '%P\n') | sort
}

# The units of the programs that are built.
unit_files() {
	files 'hooks/*.service' 'hooks/*.path' 'hooks/*.timer' 'hooks/*.target' | grep -E "^hooks/((${PROGRAMS// /|})/)?[^/]*\$"
}

# The project's shell scripts, recognized by name or by first line.
shell_files() {
	local path first

	while IFS= read -r path; do
		case $path in
		*.sh | *.bash) printf '%s\n' "$path" ;;
		*.[ch] | *.md | *.json | tests/data/*) ;;
		*)
			IFS= read -r first <"$path" 2>/dev/null || first=
			case $first in
			'#!/bin/bash'* | '#!/bin/sh'* | '#!/usr/bin/env bash'*) printf '%s\n' "$path" ;;
			esac
			;;
		esac
	done < <(files '*')
}
