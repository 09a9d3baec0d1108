# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Prints tables in Markdown, and compares the figures with their limits. Each limit is a line of LIMITS, and each lost
# comparison a line of LOST. Sourced.
# shellcheck disable=SC2034 # a loop that only counts

LIMITS=()
LOST=()
MISSED=0

ms() { [[ ! $1 ]] && echo - || awk -v us="$1" 'BEGIN { printf us < 99950 ? "%.1f" : "%.0f", us / 1000 }'; }
kib() { [[ ! $1 ]] && echo - || awk -v b="$1" 'BEGIN { printf "%.0f", b / 1024 }'; }
# ratio OURS THEIRS
ratio() {
	if [[ ! $1 || ! $2 || $2 == 0 ]]; then
		echo -
	else
		awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'
	fi
}
# A size in bytes, for people
size() {
	awk -v b="$1" 'BEGIN {
		if (b % 1073741824 == 0) printf "%d GiB", b / 1073741824
		else if (b % 1048576 == 0) printf "%d MiB", b / 1048576
		else printf "%.0f MB", b / 1000000 }'
}

section() { printf '\n### %s\n\n' "$*"; }

# table TITLE...: the head of a table; row CELL...
table() {
	local title line=

	row "$@"
	for title; do
		line+=" --- |"
	done
	echo "|$line"
}

row() {
	local cell line=

	for cell; do
		line+=" ${cell:--} |"
	done
	echo "|$line"
}

# limit NAME VALUE MOST [UNIT]: the limit holds if VALUE <= MOST.
limit() {
	if [[ ! $2 || $2 == - ]]; then
		LIMITS+=("| $1 | not measured | ${3}${4:+ $4} | MISSES |")
		MISSED=$((MISSED + 1))
	elif awk -v a="$2" -v b="$3" 'BEGIN { exit !(a <= b) }'; then
		LIMITS+=("| $1 | ${2}${4:+ $4} | ${3}${4:+ $4} | ok |")
	else
		LIMITS+=("| $1 | ${2}${4:+ $4} | ${3}${4:+ $4} | MISSES |")
		MISSED=$((MISSED + 1))
	fi
}

# loses NAME RATIO: adds a comparison with RATIO above 1, with or without a limit, to LOST.
loses() {
	[[ $2 == - ]] || ! awk -v a="$2" 'BEGIN { exit !(a > 1) }' || LOST+=("- $1: $2 times")
}

report_end() {
	local line

	section "Limits"
	table limit measured at\ most ""
	printf '%s\n' "${LIMITS[@]}"
	section "Lost comparisons"
	if ((${#LOST[@]} == 0)); then
		echo "Nothing."
	fi
	for line in "${LOST[@]}"; do
		echo "$line"
	done
	printf '\n%d limits, %d missed\n' "${#LIMITS[@]}" "$MISSED"
}

machine() {
	local cpu memory

	cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
	memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
	cat <<-END
		$(date -u +%Y-%m-%d), $("$BUILD/greenboot-etcd" --version | head -n 1), $(nproc) × ${cpu:-$(uname -m)}, $memory, Linux $(uname -r),
		$("$ETCD" --version | sed -n 's/^etcd Version: /etcd /p'), $(ostree --version |
			sed -n "s/^ *Version: *'\(.*\)'/libostree \1/p"), $(cp --version | head -n 1),
		$(rsync --version | sed -n 's/^rsync *version \([^ ]*\).*/rsync \1/p'). File systems are on loop
		devices over $(stat -f -c %T "$GBE_SCRATCH") ($LOOP_HOW). Load at the start: $(cut -d' ' -f1 /proc/loadavg).
	END
}
