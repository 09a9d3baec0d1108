# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The suite of one file system: on-KIND.sh sets KIND and sources this file. README.md describes it.

# shellcheck source=tests/crash/crash.sh
. "$GBE_CRASH/crash.sh"

# The amount of work for one operation: states between the flushes, fault points, calls to die at, calls to fail,
# disks that die. CI takes turns, which SEED chooses. An operation has its power cuts on one kind of each file system
# (ext4, XFS, btrfs). The rest is played on one of three kinds.
case ${LEVEL:-ci} in
ci) BUDGET=${BUDGET:-8} KILL_POINTS=3 KILL_CALLS=4 ERRORS=6 DEATHS=1 ;;
full) BUDGET=140 KILL_POINTS=1000 KILL_CALLS=60 ERRORS=30 DEATHS=20 ;;
nightly) BUDGET=140 KILL_POINTS=1000 KILL_CALLS=1000 ERRORS=1000 DEATHS=1000 ETCD_EVERY=1 ;;
esac

# is_its_turn NUMBER: succeeds if the operation is played on this kind. Named cases always run.
is_its_turn() {
	local three=(ext4 xfs btrfs-subvol)
	[[ ${LEVEL:-ci} != ci || ${CASE-} || ${three[($1 + SEED) % 3]} == "$KIND" ]]
}

# is_cut_here NUMBER: succeeds if the operation has its power cuts on this kind.
is_cut_here() {
	# shellcheck disable=SC2034 # read by their names
	local ext4=(ext4 ext4-writeback ext4-nodelalloc) xfs=(xfs xfs-noreflink) btrfs=(btrfs-subvol btrfs)
	local -n kinds=${KIND%%-*}
	[[ ${LEVEL:-ci} != ci || ${CASE-} || ${kinds[($1 + SEED) % ${#kinds[@]}]} == "$KIND" ]]
}

# others_commit OPERATION: succeeds if it is played while others commit. In CI, only operations with a single flush at
# the end are.
others_commit() {
	[[ ${LEVEL:-ci} != ci || ${CASE-} || ($KIND == btrfs || $KIND == xfs) && ($1 == by-hand || $1 == restore) ]]
}

# Many extents make a log in many parts. XFS may lose a part without an error of fsync, so disks always die in more
# places there.
is_wide() { [[ ${OP_SCENE[$1]} == wide ]]; }
WIDE_DEATHS=$((DEATHS > 8 ? DEATHS : 8))

suite_begin "$@"
CASE='*' run_case "scenes@$KIND" scenes_keep all
[[ $CASES_FAILED == 0 ]] || suite_end
# shellcheck source=/dev/null
. "$GBE_MEM/scenes/roles"
disk_attach || { echo "not ok disk@$KIND: no loop device on FUSE" && exit 1; }
# part NAME OPERATION COMMAND...: plays a case.
part() {
	# shellcheck disable=SC2053 # a pattern
	[[ $1-$2 == ${CASE:-*} ]] || return 0
	shift 2
	"$@" || CASES_FAILED=$((CASES_FAILED + 1))
}

for number in "${!OPERATIONS[@]}"; do
	op=${OPERATIONS[number]}
	! is_wide "$op" || clones_extents || continue
	! is_cut_here "$number" || part power "$op" power_cuts "$op" "$BUDGET"
	! others_commit "$op" || part commits "$op" power_cuts "$op" "$BUDGET" commits
	! is_wide "$op" || part disks "$op" disks "$op" "$WIDE_DEATHS"
	is_its_turn "$number" || continue
	part kills "$op" kills "$op" "$KILL_POINTS" "$KILL_CALLS"
	part errors "$op" errors "$op" "$ERRORS"
	is_wide "$op" || part disks "$op" disks "$op" "$DEATHS"
done
echo "# $KIND: $STATES states, $ETCD_RUNS times with etcd"
suite_end
