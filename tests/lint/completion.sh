#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The completions have the verbs, words and options of the programs: `make completions` would change nothing.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

shells=(greenboot-etcd _greenboot-etcd greenboot-etcd.fish)
if [ "$PROGRAMS" != "store certs cluster" ]; then
	skip completion "optional: the tables need all programs"
	finish
fi
# changes: what the programs would write, of each file below $scratch/completion that differs.
changes() {
	local name

	data/completion/generate "$BUILD" "$scratch/completion" || echo "$scratch/completion: generate failed"
	for name in "${shells[@]}"; do
		cmp -s "data/completion/$name" "$scratch/completion/$name" ||
			echo "data/completion/$name: not what the programs say; run make completions"
	done
}
# An option that a verb with words has goes with one of them.
orphans() {
	sed -nE "s/^\t\['(.*)'\]='(.*)'$/\1|\2/p" data/completion/greenboot-etcd | awk -F'|' '
		{
			verb = $1
			sub(/ ?[^ ]+$/, "", verb)
			above[verb] = 1
			for (n = split($2, tokens, " "); n > 0; n--)
				if (sub(/^--/, "", tokens[n])) {
					sub(/=.*/, "", tokens[n])
					all[$1 "|" tokens[n]] = taken[verb "|" tokens[n]] = 1
				}
		}
		END {
			for (key in all)
				if (above[substr(key, 1, index(key, "|") - 1)] && !(key in taken))
					print key " goes with no word"
		}'
}
mkdir "$scratch/completion"
cp "${shells[@]/#/data/completion/}" "$scratch/completion/"
check completion-generated "$(changes)"
check completion-words "$(orphans)"

# The guard guards.
sed -i 's/--identity=@file//' "$scratch/completion"/*
! cmp -s data/completion/greenboot-etcd "$scratch/completion/greenboot-etcd" && [[ -z $(changes) ]] &&
	ok completion-can-fail || not_ok completion-can-fail "an option that is missing was not written again"
finish
