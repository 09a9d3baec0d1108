#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# No file of the tree depends on one developer's machine or on where packages come from: no package
# registry's host, no home or working directory.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

# Written in pieces, so that this file does not name them itself.
hosts='deb\.debian''\.org|security\.debian''\.org|archive\.ubuntu''\.com|pypi''\.org|registry\.npmjs''\.org|crates''\.io|proxy\.golang''\.org|quay''\.io|docker''\.io|registry\.fedoraproject''\.org|download\.fedoraproject''\.org|mirrors\.fedoraproject''\.org|rubygems''\.org|dl\.google''\.com|repo1\.maven''\.org'
paths='(^|[^A-Za-z0-9_./$}-])/(work|home|Users)/[A-Za-z]|(^|[^A-Za-z0-9_./$}-])/root/[A-Za-z.]'
own=tests/lint/names.sh

mapfile -t texts < <(files '*' | grep -vE "^(tests/data/.*|$own)\$")
check no-registry-hosts "$(grep -nIE "$hosts" "${texts[@]}" /dev/null | cut -c 1-160)"
check no-machine-paths "$(grep -nIE "$paths" "${texts[@]}" /dev/null | cut -c 1-160)"

printf 'see /%s/main and http://quay.%s/x\n' work io >"$scratch/bad"
grep -qE "$hosts" "$scratch/bad" && grep -qE "$paths" "$scratch/bad" && ok names-can-fail ||
	not_ok names-can-fail "a planted host or path was not found"
finish
