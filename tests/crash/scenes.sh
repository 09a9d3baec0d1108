# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# The devices on which operations are interrupted: one story with a real etcd and a real ostree. It is played once on
# each file system, and its moments are saved. Each tree of data in it has a name, its *role*, by which the tests
# recognize it. Sourced.

SCENE_SIZE=$((1 << 30))
declare -gA ROLE=()      # digest of a tree -> its role
declare -gA ROLE_STATE=() # role -> the state of an etcd that runs on it
LOOK=$BUILD/tests/crash/look

scene_dir() { echo "$GBE_MEM/scenes/$1"; }

# role NAME: names the present data. etcd is down.
role() {
	local digest

	digest=$("$LOOK" "$ROOT" | sed -n 's/^data //p')
	[[ ! ${ROLE[$digest]-} ]] || fail "$1 and ${ROLE[$digest]} are the same"
	ROLE[$digest]=$1
	ROLE_STATE[$1]=$STATE_OF_ETCD
}

# etcd_writes COMMAND...: starts etcd on the data, lets the command write, and stops etcd.
etcd_writes() {
	start_etcd
	"$@"
	STATE_OF_ETCD=$(etcd_state)
	stop_etcd
	forget_wal
}

# The preallocated end of a WAL that was read since counts as data for SEEK_DATA while the page cache has it. A copy
# of it is 64 MB of zeros, which each check would read.
forget_wal() {
	local file

	for file in "$DATA"/member/wal/*; do
		dd if=/dev/null of="$file" oflag=nocache conv=notrunc,fdatasync status=none
	done
}

# scene NAME: saves the present device: the disk, /boot, and, if it is on, /run.
scene() {
	local dir

	dir=$(scene_dir "$1")
	mkdir -p "$dir"
	cp -a "$ROOT/run" "$dir/run"
	umount -R "$ROOT"
	cp --sparse=always "$IMAGE" "$dir/image"
	cp -a "$BOOT" "$dir/boot"
	declare -p DEPLOYMENT BOOTED | sed 's/^declare -A/declare -gA/; s/^declare --/declare -g/' \
		>"$dir/variables"
	# The trees of its backups.
	loop_mount "$IMAGE" "$ROOT"
	"$LOOK" "$ROOT" | grep '^backup ' >"$dir/backups" || true
	root_mounts
	mount -t tmpfs -o mode=0755 tmpfs "$ROOT/run"
	cp -a "$dir/run/." "$ROOT/run/"
}

# scene_back NAME: continues the story from there.
scene_back() {
	local dir

	dir=$(scene_dir "$1")
	umount -R "$ROOT"
	cp --sparse=always "$dir/image" "$IMAGE"
	loop_mount "$IMAGE" "$ROOT"
	scene_enter "$1"
}

# scene_enter NAME: mounts its disk at ROOT, and sets the device's variables.
scene_enter() {
	local dir

	dir=$(scene_dir "$1")
	find "$BOOT" -mindepth 1 -delete
	cp -a "$dir/boot/." "$BOOT/"
	# shellcheck source=/dev/null
	. "$dir/variables"
	root_mounts
	mount -t tmpfs -o mode=0755 tmpfs "$ROOT/run"
	cp -a "$dir/run/." "$ROOT/run/"
}

# scene_also NAME FROM FUNCTION: makes a scene from another one.
scene_also() {
	scene_back "$2"
	"$3"
	scene "$1"
}

# kills_prerun NAME POINT: boots NAME, and kills its prerun with the supervisor at POINT.
killed_at() {
	MASKED=yes boot "$1"
	GREENBOOT_ETCD_FAULT=$2=kill "$BUILD_FAULTS/hooks/prerun" --root="$ROOT" || true
}

writes_a() { put_many base 10 && put owner A; }
writes_more() { put more yes && put owner "A, later"; }
writes_b() { put owner B && put_many of-b 5 && del base/1 && hook health; }

# scenes_keep all|two: plays KIND's story, all of it or up to that scene, and keeps the roles of its trees.
scenes_keep() {
	mkdir -p "$GBE_MEM/scenes"
	set -eEuo pipefail
	scenes_begin
	[[ $1 == two ]] || scenes_go_on
	scenes_of_hand "$1"
	[[ $1 == two ]] || scenes_of_update
	declare -p ROLE ROLE_STATE ETCD_PORT | sed 's/^declare -A/declare -gA/; s/^declare --/declare -g/' \
		>"$GBE_MEM/scenes/roles"
	root_free
}

scenes_begin() {
	device "$KIND" shell $SCENE_SIZE
	config backup at-boot=always at-shutdown=never keep-good=2
	MASKED=yes boot A
	[[ $KIND == btrfs-subvol ]] || mkdir -m 0700 "$DATA"
	etcd_writes writes_a
	role first
	scene first # data from before this program was installed; off

	boot A
	started
	etcd_writes put_and_judge by-A
	role green
	scene up # A is up and green, etcd stopped
}

scenes_go_on() {
	shutdown
	scene off
	scene_also many off scene_many
	scene_back up
}

scenes_of_hand() {
	gbe -q backup m0
	etcd_writes writes_more
	role later
	gbe -q backup m1
	scene two # backups m0 and m1; on
	[[ $1 == all ]] || return 0
	scene_also undoable two scene_undoable
	scene_also requested two scene_requested
	scene_also closing up scene_closing
	! clones_extents || scene_also wide up scene_wide
}

scene_undoable() { gbe -q restore m0; }
scene_requested() { gbe -q restore m0 --next-boot; }
scene_closing() { config backup at-shutdown=always; }

# On these, a db is cloned extent by extent. (In a subvolume, it is a snapshot.)
clones_extents() { [[ $KIND == btrfs || $KIND == xfs ]]; }

# A backup, and data with a db of 65 MiB in 4096 extents with holes between them.
scene_wide() {
	local db=$DATA/member/snap/db n

	etcd_writes put wide yes
	for ((n = 1; n <= 4096; n++)); do
		echo "pwrite -q -S $((n % 255 + 1)) $((16384 * n + 1048576)) 4096"
	done | xfs_io "$db" >/dev/null
	role wide
	gbe -q backup w0
	etcd_writes put wide "yes, later"
	role wider
}

put_and_judge() { put boot "$1" && judge green; }

# Two good backups more than retention keeps when it runs.
scene_many() {
	local n

	config backup keep-good=9
	for n in 1 2 3; do
		boot A
		started
		etcd_writes put_and_judge "$n"
		role "boot-$n"
		shutdown
	done
	boot A
	started
	etcd_writes judge green
	role last
	config backup keep-good=1
}

scenes_of_update() {
	scene_back up
	update B
	shutdown
	scene b-next # B is staged; off

	grub_choose
	boot B
	started
	etcd_writes writes_b
	role b
	scene b-judged # B is up, health has run, no verdict yet; on
	hook red
	shutdown
	scene b-red # and off

	scene_also half b-red scene_half
	scene_also staged b-red scene_staged
}

# The third start after two unfinished ones begins nothing. The next one here is the second.
scene_half() { killed_at A restore-exchanged && forget_starts; }
scene_staged() { killed_at A restore-cloned && forget_starts; }
# A killed start has left it.
forget_starts() { sed -i '/"kind":"start"/d' "$ROOT/var/lib/greenboot-etcd/ledger"; }
