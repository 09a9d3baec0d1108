#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The unit tests of src/fs again, each in a fresh directory of every supported file system. GBE_TEST_FS names it, so
# that the tests expect its features.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

PROGRAMS=${BUILD_FAULTS:-$BUILD-faults}/tests/unit

# passes PROGRAM KIND DIR: expects that every test passes, none is skipped, and nothing is left in DIR.
passes() {
	local out=$GBE_MEM/out.$BASHPID

	GBE_TEST_DIR=$3 GBE_TEST_FS=$2 "$1" >"$out" || fail "$(grep -m 1 ':[FE]:' "$out")"
	assert_match "summary" "$(grep '^[0-9]*%: Checks' "$out")" \
		"100%: Checks: [1-9]*, Failures: 0, Errors: 0"
	assert_eq "skipped" "$(grep '^skip ' "$out" || true)" ""
	assert_eq "left in the directory" "$(find "$3" -mindepth 1)" ""
}

suite_begin "$@"
more=
[[ ${LEVEL:-ci} == ci ]] || more="xfs-noreflink btrfs-subvol"
# These run on each file system, also at LEVEL=ci: all else depends on them.
for kind in ${FS:-ext4 xfs btrfs $more}; do
	# The file systems are in memory: these tests are about functions, not about power cuts.
	mount_point=$GBE_SCRATCH/fs.$kind
	mkdir "$mount_point"
	fs_format "$kind" "$GBE_MEM/image" 1G >/dev/null 2>&1
	mount -o loop,noatime "$GBE_MEM/image" "$mount_point"
	for program in "$PROGRAMS"/fs-*; do
		[[ -x $program && ! -d $program && ${program##*/} != *.* ]] || continue
		# An archive is unpacked in the same way on every file system, and the compression bombs take long.
		[[ ${program##*/} != fs-archive || $kind == xfs || ${LEVEL:-ci} != ci ]] || continue
		mkdir "$mount_point/work"
		run_case "${program##*/}@$kind" passes "$program" "$kind" "$mount_point/work"
		rm -rf -- "$mount_point/work"
	done
	umount "$mount_point"
	rm "$GBE_MEM/image"
done
suite_end
