# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# The device on the recording disk, and the promises that must hold after any cut. Sourced after scenes.sh and
# operations.sh.

declare -gA SEEN_BACKUP=() # name -> role, of the last look
declare -gA KNOWN=()       # states that were checked completely
SEEN_DATA='' SEEN_ALL='' SEEN_HIDDEN=''
declare -ga SEEN_LEFT=()
ALSO_FINAL= # additional leftovers that the next start may have if the operation reported its failure
RETENTION_RAN=
BROKEN=

# broken WHY: records a broken promise.
broken() {
	BROKEN=$*
	return 1
}

# ---- the disk ----

disk_attach() {
	mkdir -p "$GBE_MEM/fuse"
	coproc BLOCKLOG { exec "$BUILD/tests/crash/blocklog" "$GBE_MEM/fuse" "$SCENE_SIZE"; }
	exec {DISK_TO}>&"${BLOCKLOG[1]}" {DISK_FROM}<&"${BLOCKLOG[0]}"
	read -r -u "$DISK_FROM" ANSWER
	[[ $ANSWER == "ok /dev/"* ]] || return 1
	DISK=${ANSWER#ok }
	ROOT=$GBE_SCRATCH/crash.$BASHPID
	BOOT=$GBE_MEM/crash.$BASHPID
	DATA=$ROOT/var/lib/etcd
	mkdir -p "$ROOT" "$BOOT"
	MOUNT_OPTIONS=$(fs_options "$KIND")
	[[ $KIND != ext4* ]] || MOUNT_OPTIONS+=,noinit_itable
	# Another suite may have mounted a copy of the file system. (btrfs cannot mount such a copy.)
	[[ $KIND != xfs* ]] || MOUNT_OPTIONS+=,nouuid
}

# disk COMMAND...: sets ANSWER to its answer.
disk() {
	echo "$*" >&"$DISK_TO"
	read -r -u "$DISK_FROM" ANSWER || { echo "the recorder is gone" >&2 && exit 1; }
	[[ $ANSWER == ok* ]] || { echo "$*: $ANSWER" >&2 && exit 1; }
	ANSWER=${ANSWER#ok }
}

disk_mount() { mount -t "${KIND%%-*}" -o "$MOUNT_OPTIONS" "$DISK" "$ROOT"; }

# The kernel may need the device for a moment longer.
disk_umount() {
	local try
	for try in 1 2 3 4 5 6 7 8; do
		! umount -R "$ROOT" 2>/dev/null || return 0
		sleep "0.0$try"
	done
	umount -R "$ROOT"
}

# device_on OPERATION: prepares the device for the operation.
device_on() {
	disk reset
	disk_mount
	scene_enter "${OP_SCENE[$1]}"
	operation_ready "$1"
}

# ---- looking ----

look() {
	local word name digest torn=''

	SEEN_BACKUP=() SEEN_LEFT=() SEEN_DATA='' SEEN_ALL='' SEEN_HIDDEN=''
	while read -r word name digest; do
		case $word in
		data) SEEN_DATA=${ROLE[$name]-"no tree that ever was ($name)"} ;;
		backup) SEEN_BACKUP[$name]=${ROLE[$digest]-"no tree that ever was ($digest)"} ;;
		hidden) SEEN_HIDDEN+=" ${ROLE[$digest]-} " ;;
		left) SEEN_LEFT+=("$name") ;;
		torn) torn+=" $name" ;;
		all) SEEN_ALL=$name ;;
		esac
	done < <("$LOOK" "$ROOT")
	[[ $SEEN_ALL ]] || broken "the tree cannot be read" || return
	[[ ! $torn ]] || broken "not whole:$torn"
}

# one_of WORD WORDS
one_of() { [[ " $2 " == *" $1 "* ]]; }

# kept HIDDEN ROLE...: expects that no tree is lost.
kept() {
	local have=" $SEEN_DATA $1 ${SEEN_BACKUP[*]} " role
	shift
	for role; do
		[[ $have == *" $role "* ]] || broken "the tree $role is lost" || return
	done
}

# Each earlier backup has its content. A person may remove one, an adopted one may go if another exists, and a
# finished start removes others by retention.
backups_intact() {
	local word name digest

	while read -r word name digest; do
		if [[ ! ${SEEN_BACKUP[$name]-} ]]; then
			[[ $1 == delete || $1 == prune || $RETENTION_RAN ]] ||
				[[ $name == adopted-* && ${#SEEN_BACKUP[@]} != 0 ]] || broken "$word $name is gone" || return
		elif [[ ${SEEN_BACKUP[$name]} != "${ROLE[$digest]}" ]]; then
			broken "$word $name is ${SEEN_BACKUP[$name]}, and was ${ROLE[$digest]}" || return
		fi
	done <"$(scene_dir "${OP_SCENE[$1]}")/backups"
	for name in "${!SEEN_BACKUP[@]}"; do
		[[ ${SEEN_BACKUP[$name]} != "no tree"* ]] ||
			broken "backup $name is ${SEEN_BACKUP[$name]}" || return
	done
}

# promise WHEN OPERATION: prints the broken promise, if any.
promise() {
	local name=${1}_${2//-/_}
	! declare -F "$name" >/dev/null || "$name"
}

# ---- a cut, the next start, and the one after it ----

# check_cut OPERATION before|after: checks ROOT, mounted as the cut left it. After: the operation had ended. ROOT
# stays mounted. Fails with the reason in BROKEN.
check_cut() {
	local op=$1 when=$2

	BROKEN=
	look || return
	one_of "$SEEN_DATA" "${OP_MAY[$op]}" || broken "the data is $SEEN_DATA" || return
	# shellcheck disable=SC2086 # words
	kept "$SEEN_HIDDEN" ${OP_KEEPS[$op]} && backups_intact "$op" || return
	promise always "$op" || return
	[[ $when == before ]] || promise ended "$op" || return
	[[ ! ${KNOWN[$SEEN_ALL.$when]-} ]] || return 0
	# A kill leaves the machine running; a power cut does not.
	mountpoint -q "$ROOT/run" || scene_enter "${OP_SCENE[$op]}"
	next_start "$op" "$when" || return
	KNOWN[$SEEN_FIRST.$when]=1
	DISTINCT=$((DISTINCT + 1))
	((DISTINCT % ${ETCD_EVERY:-50} != 1 && ${ETCD_EVERY:-50} != 1)) || etcd_accepts "$SEEN_DATA"
}

next_start() {
	local op=$1 when=$2 all

	SEEN_FIRST=$SEEN_ALL
	MASKED='' boot "${OP_NEXT[$op]}" 2>"$GBE_MEM/start.log" ||
		broken "prerun: $(tail -n 1 "$PRERUN_LOG")" || return
	[[ $PRERUN == 0 ]] ||
		broken "prerun held etcd back: $(tail -n 1 "$PRERUN_LOG")" || return
	look || return
	one_of "$SEEN_DATA" "${OP_FINAL[$op]} $ALSO_FINAL" ||
		broken "after the next start the data is $SEEN_DATA" || return
	# shellcheck disable=SC2086 # words
	kept "" ${OP_KEEPS[$op]} && RETENTION_RAN=yes backups_intact "$op" || return
	[[ ${#SEEN_LEFT[@]} == 0 ]] ||
		broken "after the next start there is still ${SEEN_LEFT[*]}" || return
	[[ $when == before ]] || promise next "$op" || return
	all=$SEEN_ALL
	start_prerun 2>>"$GBE_MEM/start.log"
	[[ $PRERUN == 0 ]] || broken "the second start: $(tail -n 1 "$PRERUN_LOG")" || return
	look || return
	[[ $SEEN_ALL == "$all" ]] || broken "the second start found something to do: $(<"$PRERUN_LOG")"
}

# etcd_accepts ROLE: expects that a real etcd has the same state on a copy of the data as in the story.
etcd_accepts() {
	local data=$DATA state try

	rm -rf "$GBE_MEM/copy"
	cp -a --sparse=always "$DATA" "$GBE_MEM/copy"
	DATA=$GBE_MEM/copy
	if start_etcd 2>>"$GBE_MEM/start.log"; then
		# On a busy machine it may have no leader for a moment.
		for try in 1 2 3 4 5; do
			state=$(etcd_state 2>>"$GBE_MEM/start.log") && [[ $state ]] && break
			sleep "$try"
		done
	fi
	stop_etcd
	rm -rf "$GBE_MEM/copy"
	DATA=$data
	ETCD_RUNS=$((ETCD_RUNS + 1))
	[[ ${state-} == "${ROLE_STATE[$1]}" ]] ||
		broken "etcd says '${state-nothing}' of $1, and said '${ROLE_STATE[$1]}'"
}
