#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# rpmlint finds nothing in the spec and in the packages of `make rpm` but what rpm/greenboot-etcd.rpmlintrc explains.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lint/lib.bash"

if ! command -v rpmlint >/dev/null; then
	skip rpmlint "rpmlint is not installed: make deps-all"
	finish
fi

# lint FILE...: its findings.
lint() { rpmlint --rpmlintrc rpm/greenboot-etcd.rpmlintrc "$@" 2>&1 | tee "$scratch/log" | grep -E ': [EW]: '; }

check rpmlint "$(lint rpm/greenboot-etcd.spec build/rpm/RPMS/*/*.rpm)"
check rpmlint-has-read-all "$(grep -q ' 11 packages and 1 specfiles checked' "$scratch/log" || tail -n 3 "$scratch/log")"

# The guard guards.
sed '/^%prep/,$d' rpm/greenboot-etcd.spec >"$scratch/half.spec"
lint "$scratch/half.spec" | grep -qv unused-rpmlintrc-filter && ok rpmlint-can-fail || not_ok rpmlint-can-fail "half a spec is accepted"
finish
