# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2119,SC2120,SC2153 # read and called by those who source this
#
# Scenes that many stories share. Deployment A is the old system, B the update. Sourced last.

A_STATE= # what A's etcd had when A stopped
B_STATE=

# holds WHAT STATE: the running etcd has exactly that.
holds() { assert_eq "$1" "$(etcd_state)" "$2"; }

booted() { assert_eq "booted" "$BOOTED" "$1"; }
started() { assert_eq "prerun" "$PRERUN" 0; }
held() {
	assert_eq "prerun" "$PRERUN" 5
	! etcd_running
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*?*"
	assert_exists "$ROOT/run/motd.d/greenboot-etcd"
}

# ---- scenes at which many stories begin are made once a run. `SCENES=anew` makes each scene separately: ----
# ---- a suite that cuts the power next wants unflushed changes, and a prepared scene is flushed ----

# begin_with SCENE KIND [FLAVOUR]: gives the state that SCENE_anew makes, except that etcd was stopped and started.
begin_with() {
	local name=$1-$2-${3:-shell}

	# Other parts, and file systems that cannot be mounted twice, get a scene of their own.
	if [[ $# -gt 3 || ${SCENES-} == anew || $ETCD != etcd || $CLOCK != 0 || $MASKED ||
		${DEVICE_STATEROOT-}${HEALTH_TIMEOUT-}${OS_VERSION[*]-} || ${#ETCD_OPTIONS[@]} -gt 0 || ${#ETCD_OF[@]} -gt 0 || ${#TRACER[@]} -gt 0 || $MAX_BOOT_ATTEMPTS != 3 ||
		! $2 =~ ^(xfs|xfs-noreflink|ext4)$ ]] || declare -F before_prerun >/dev/null; then
		"$1_anew" "${@:2}"
		return
	fi
	# Prepared scenes belong to this run, so no clock has moved since.
	prepared "$name" scene_make "$BUILD"/hooks/* "$GBE_LIB"/*.sh "$0" \
		"${TEST_LOGS:-$GBE_TOP/build/test-logs}/begun"
	scene_load "$PREPARED" "$2"
}

scene_make() {
	local scene=${1##*/} how
	scene=${scene%%-*}
	how=${1##*/"$scene"-}
	# Runs in a shell of its own, so that the case's variables do not change.
	ROOT='' ETCD_PID=''
	trap 'kill_etcd; root_free' EXIT
	"${scene}_anew" "${how%-*}" "${how##*-}"
	scene_save "$1"
}

# scene_save DIR: moves the device to DIR: the disk, /boot, /run, and the test's variables. The device is gone after
# it.
scene_save() {
	stop_etcd
	cp -a "$ROOT/run" "$1/run"
	cp -a "$BOOT" "$1/boot"
	cp "$PRERUN_LOG" "$1/prerun.log"
	declare -p BOOTED PRERUN FINALIZE HEALTH PRERUN_US FINALIZE_US STATEROOT DEPLOYMENT FLAVOUR AFTER GRUB_INDEX \
		A_STATE B_STATE ETCD_PORT | sed 's/^declare /declare -g /' >"$1/known"
	umount -R "$ROOT"
	cp --sparse=always "$IMAGE" "$1/image"
	root_free
}

# scene_load DIR KIND: makes the device from DIR.
scene_load() {
	root_new "$2" "" "$1"
	mount -t tmpfs -o mode=0755 tmpfs "$ROOT/run"
	cp -a "$1/run/." "$ROOT/run/"
	PRERUN_LOG=$GBE_MEM/prerun.log
	cp "$1/prerun.log" "$PRERUN_LOG"
	# shellcheck source=/dev/null
	. "$1/known"
	if ! port_free "$ETCD_PORT" || ! port_free $((ETCD_PORT + 1)); then
		etcd_ports
		config_write
	fi
	start_etcd
}

# a_green KIND [FLAVOUR]: leaves A up and green, with data in its etcd.
a_green() { begin_with a_green "$@"; }
a_green_anew() {
	device "$@"
	power_on
	started
	put_many base 10
	put owner A
	judge green
}

# into_b [COMMIT]: stages B, lets A write until it stops, and boots B with this data.
into_b() {
	update B "$@"
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot
	booted B
	started
	holds "B's data" "$A_STATE"
}

b_writes() {
	put owner B
	put_many of-b 5
	del base/1
}

# a_b_green KIND [FLAVOUR]: leaves B up after both were green, with writes of B.
a_b_green() { begin_with a_b_green "$@"; }
a_b_green_anew() {
	a_green "$@"
	into_b
	b_writes
	judge green
	B_STATE=$(etcd_state)
}

# Plays a further attempt of B, which starts from the data of A.
b_again() {
	holds "the next attempt" "$A_STATE"
	b_writes
}

# fails_back: lets B go red until greenboot boots A, and A has its data again.
fails_back() {
	fail_until_rollback b_again
	a_is_back
}

a_is_back() {
	booted A
	started
	holds "A's data" "$A_STATE"
}

# roll_back_to NAME: does what `rpm-ostree rollback` and a reboot do.
roll_back_to() {
	make_default "$1"
	reboot
	booted "$1"
}

# from_menu NAME: shuts the running system down in order, and boots the entry from GRUB's menu.
from_menu() {
	shutdown
	grub_choose
	boot "$1"
	greenboot_check_fallback
	[[ ${PRERUN:-0} != 0 ]] || start_etcd "${ETCD_OPTIONS[@]}"
}

# weeks_pass: lets this run continue for three weeks.
weeks_pass() {
	clock_set $((CLOCK + 21 * 86400))
	UPTIME=$((UPTIME + 21 * 86400))
}

# backups FILTER: counts the backups. FILTER is jq's, on one entry of list.
backups() { json "[.[] | select($1)] | length" list; }
# backup_name FILTER: prints the newest backup that FILTER selects.
backup_name() { json "[.[] | select($1)][0].name // \"\"" list; }

# disk_fill: fills the data's file system to the last byte. disk_free undoes it.
disk_fill() {
	local step
	for step in 64M 1M 64k 4k; do
		while fallocate -l "$step" "$ROOT/var/filler.$RANDOM$RANDOM" 2>/dev/null; do :; done
	done
	dd if=/dev/zero of="$ROOT/var/filler.last" bs=4k 2>/dev/null || true
	sync -f "$ROOT"
}
# inodes_fill [DIR]: uses all inodes of the data's file system, with files in DIR. inodes_free undoes it.
inodes_fill() {
	local dir=${1:-$ROOT/var/many} round
	mkdir -p "$dir"
	for round in 1 2 3; do
		(cd "$dir" && seq -f "$round.%.0f" "$(df --output=iavail . | tail -n 1)" | xargs touch 2>/dev/null) || true
		sync -f "$dir"
	done
	while touch "$dir/last.$((round++))" 2>/dev/null; do :; done
	sync -f "$dir"
}
inodes_free() { rm -rf "${1:-$ROOT/var/many}"; }
disk_free() { rm -f "$ROOT"/var/filler.*; }
# disk_room MIB: leaves exactly that much free.
disk_room() {
	sync -f "$ROOT"
	fallocate -l "$1M" "$ROOT/var/room"
	disk_fill
	rm "$ROOT/var/room"
	sync -f "$ROOT"
}

# backup_digests: prints NAME DIGEST, a line for each backup in the store.
backup_digests() {
	local dir
	for dir in "$ROOT"/var/lib/greenboot-etcd/backups/[!.]*/data; do
		[[ ! -d $dir ]] || echo "$(basename "$(dirname "$dir")") $(tree_digest "$dir")"
	done
}

# backups_intact DIGESTS POINT: checks that each remaining backup has the content that backup_digests printed, and
# that each newer one is complete.
backups_intact() {
	local name digest was

	while read -r name digest; do
		was=$(awk -v name="$name" '$1 == name { print $2 }' <<<"$1")
		if [[ $was ]]; then
			assert_eq "content of $name after a cut at $2" "$digest" "$was"
		else
			gbe -q verify "$name" || fail "after a cut at $2, $name is no sound backup"
		fi
	done < <(backup_digests)
}

# every_cut NAME CHECK: begins with a device that is off. A boot of NAME is cut at each point that prerun passes now.
# After each cut it calls CHECK POINT, which boots again and looks. No backup may change.
every_cut() {
	local name=$1 check=$2 point before

	device_save
	before=$(backup_digests)
	MASKED=yes boot "$name"
	mapfile -t POINTS < <(fault_points prerun)
	((${#POINTS[@]} > 0)) || fail "prerun passes no fault point"
	for point in "${POINTS[@]}"; do
		device_load
		boot_cut "$name" "$point" || fail "prerun did not come to $point again"
		"$check" "$point"
		backups_intact "$before" "$point"
		kill_etcd
	done
	device_load
}
