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
# undescribed FILE: each verb, word and option in fish's table FILE has a description.
undescribed() {
	awk -v q="'" '
		/^function __greenboot_etcd_about/ { about = 1 }
		/^\t\tcase / { key = $0; sub(/^\t\tcase /, "", key); gsub(q, "", key); if (about) said[key] = 1 }
		!about && /^\t\t\tprintf/ { tokens[key] = $0 }
		END {
			for (key in tokens)
				for (n = split(tokens[key], token, " "); n > 2; n--) {
					name = token[n]
					sub(/=.*/, "", name)
					verb = key
					sub(/ .*/, "", verb)
					if (name !~ /^(:|\.\.\.|-[a-zA-Z]$)/ && !((key " " name) in said) && !((verb " " name) in said))
						print key " " name " has no description"
				}
		}' "$1"
}
mkdir "$scratch/completion"
cp "${shells[@]/#/data/completion/}" "$scratch/completion/"
check completion-generated "$(changes)"
check completion-words "$(orphans)"
check completion-described "$(undescribed data/completion/greenboot-etcd.fish)"

# The guard guards.
sed "/case 'restore --stop'/d" data/completion/greenboot-etcd.fish >"$scratch/undescribed.fish"
[ "$(undescribed "$scratch/undescribed.fish")" = "restore --stop has no description" ] && ok completion-described-can-fail ||
	not_ok completion-described-can-fail "an option without a description was not found"
sed -i 's/--identity=@file//' "$scratch/completion"/*
! cmp -s data/completion/greenboot-etcd "$scratch/completion/greenboot-etcd" && [[ -z $(changes) ]] &&
	ok completion-can-fail || not_ok completion-can-fail "an option that is missing was not written again"
finish
