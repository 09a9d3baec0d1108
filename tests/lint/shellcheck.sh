#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each script is read by shellcheck alone, which takes milliseconds. A script with findings is read again together with the
# files that it sources, which takes seconds. Variables that they set or use are not findings.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

if ! command -v shellcheck >/dev/null; then
	skip shellcheck "shellcheck is not installed: make deps-all"
	finish
fi

# SC2015: "a && ok || not_ok" is common in this tree; ok does not fail. SC2317: functions are arguments of functions
# here, which shellcheck takes for unreachable code.
export SHELLCHECK_OPTS='-S info -f gcc -e SC2015,SC2317 -P SCRIPTDIR'

# suspects FILE...: "FILE:LINE:..." of each finding. SC1091: a sourced file was not read.
suspects() {
	printf '%s\0' "$@" | xargs -0 -n 8 -P "${JOBS:-2}" shellcheck -e SC1091 2>&1
}

# wrong FILE...: the same, together with the files that they source.
wrong() {
	local found

	mapfile -t found < <(suspects "$@" | cut -d: -f1 | sort -u)
	[ ${#found[@]} -eq 0 ] || printf '%s\0' "${found[@]}" | xargs -0 -n 1 -P "${JOBS:-2}" shellcheck -x 2>&1
}

mapfile -t scripts < <(shell_files)
check_each shellcheck wrong "${scripts[@]}"

# The guard guards: a variable that no file assigns is found, and one that a sourced file assigns is accepted.
cat >"$scratch/a.sh" <<'A'
#!/bin/bash
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/b.sh"
echo "$given"
A
cat >"$scratch/b.sh" <<'B'
# shellcheck shell=bash
export given=1
B
cat >"$scratch/c.sh" <<'C'
#!/bin/bash
echo "$given"
C
if [ -z "$(wrong "$scratch/a.sh" "$scratch/b.sh")" ] && [[ $(wrong "$scratch/c.sh") == "$scratch/c.sh:2:"*SC2154* ]]; then
	ok shellcheck-can-fail
else
	not_ok shellcheck-can-fail "$(wrong "$scratch"/?.sh | tr '\n' ';')"
fi
finish
