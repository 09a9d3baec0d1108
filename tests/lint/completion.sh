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
mkdir "$scratch/completion"
cp "${shells[@]/#/data/completion/}" "$scratch/completion/"
check completion-generated "$(changes)"

# The guard guards.
sed -i 's/--identity=@file//' "$scratch/completion"/*
! cmp -s data/completion/greenboot-etcd "$scratch/completion/greenboot-etcd" && [[ -z $(changes) ]] &&
	ok completion-can-fail || not_ok completion-can-fail "an option that is missing was not written again"
finish
