#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each operation that is given to the runner of steps (app/device/change.h) is killed by a test, which says so in a
# line "# steps: NAME". So a new operation cannot stay outside of the suites.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

runs='gbe_(change|session)_(run|do)\('

# operations FILE...: "FILE: NAME" of each operation. A name is given as a text, or as a macro of the file; one that
# comes from a caller is found there.
operations() {
	local file word text

	for file in "$@"; do
		text=$(tr '\n' ' ' <"$file")
		grep -oE '(\.|char \*)(name|operation) = [^,;}]*' <<<"$text" | grep -oE '"[^"]*"|= [A-Z_]+' |
			while read -r word; do
				[[ $word == '"'* ]] || word=$(sed -nE "s/^#define ${word#= } (\".*\")\$/\1/p" "$file")
				[[ ! $word ]] || echo "$file: ${word//\"/}"
			done
	done | sort -u
}

# killed NAME FILE...: does one of the tests say so?
killed() {
	grep -qE "^[[:space:]]*# steps: $1( \(.*\))?\$" "${@:2}"
}

mapfile -t sources < <(files 'src/*.c')
mapfile -t sources < <(grep -lE "$runs" "${sources[@]}" | grep -vE '/(change|by-hand)\.c$')
mapfile -t tests < <(files 'tests/crash/*.sh' 'tests/integration/*.sh')
check operations-found "$([ "${#sources[@]}" -gt 5 ] || echo "only ${#sources[@]} sources use the runner")"
check each-is-killed "$(operations "${sources[@]}" | while IFS= read -r found; do
	killed "${found#*: }" "${tests[@]}" || echo "$found: no test has the line \"# steps: ${found#*: }\""
done)"
check each-exists "$(grep -ohE '# steps: [a-z -]+' "${tests[@]}" | sed -E 's/# steps: //; s/ +$//' | sort -u |
	while IFS= read -r name; do
		operations "${sources[@]}" | grep -q ": $name\$" || echo "$name: no operation has this name"
	done)"

cat >"$scratch/new.c" <<'END'
#define OPERATION "certs turn"
	g_auto(New) a = {.change = {.app = app, .name = OPERATION}};
	B b = {.session.how = {.operation = pinned ? "push"
						   : "pull", .dry_run = dry_run}};
END
echo "# steps: pull" >"$scratch/test.sh"
check operations-can-be-missing "$(
	[ "$(operations "$scratch/new.c" | sed 's/.*: //' | tr '\n' ,)" = "certs turn,pull,push," ] || echo "not found"
	killed pull "$scratch/test.sh" && ! killed push "$scratch/test.sh" || echo "not told apart"
)"
finish
