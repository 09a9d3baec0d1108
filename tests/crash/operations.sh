# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2317 # read and called by those who source this
#
# The interrupted operations: one line each, and the promises that must hold after any interruption. Sourced.
#
#   operation NAME SCENE NEXT OLD NEW FINAL [KEEPS...] -- COMMAND...
#
# SCENE   the device it begins on (scenes.sh)
# NEXT    the deployment that boots after the cut
# OLD/NEW roles that the data directory may have after the cut, at any point of it
# FINAL   roles, with commas: what the next start may make of it
# KEEPS   roles that no cut may lose: in the data directory or in a backup when all is done
# COMMAND is started on the device. ended_NAME, where there is one: what was promised when it had ended.
#
# "# steps: NAME" says that kills go through the steps of the operation NAME (app/device/change.h); lint wants such a
# line for each. The steps of a command are those that it prints itself (kills.sh).
#
# steps: backup
# steps: restore
# steps: undo
# steps: delete
# steps: prune
# steps: pin
# steps: unpin (the steps of pin)
# steps: mark

declare -ga OPERATIONS=()
declare -gA OP_SCENE=() OP_NEXT=() OP_MAY=() OP_FINAL=() OP_KEEPS=() OP_COMMAND=()
# "OPERATION STEP" -> why its kills do not pass this step.
declare -gA NOT_PASSED=()

operation() {
	local name=$1

	OPERATIONS+=("$name")
	OP_SCENE[$name]=$2 OP_NEXT[$name]=$3 OP_MAY[$name]="$4 $5" OP_FINAL[$name]=${6//,/ }
	shift 6
	while [[ $1 != -- ]]; do
		OP_KEEPS[$name]+="$1 "
		shift
	done
	shift
	OP_COMMAND[$name]="$*"
}

operation stamp      first     A first first first               first        -- prerun A
operation backup     off       A green green green               green        -- prerun A
operation upgrade    b-next    B green green green               green        -- prerun B
operation retry      b-red     B b     green green               green b      -- prerun B
operation rollback   b-red     A b     green green               green b      -- prerun A
operation finish     half      A green green green              green b      -- prerun A
operation staged     staged    A b     green green               green b      -- prerun A
operation by-hand    up        A green green green               green        -- gbe -q backup m2
operation restore    two       A later green green,later         green later  -- gbe -q restore m0
operation keep       two       A later green green,later         green later  -- gbe -q restore m0 --keep-existing=/var/kept
operation skip       two       A later green green,later         green later  -- gbe -q restore m0 --skip-backup
operation undo       undoable  A green later green,later         green later  -- gbe -q undo
operation request    two       A later later green,later         green later  -- gbe -q restore m0 --next-boot
operation cancel     requested A later later green,later         green later  -- gbe -q restore --cancel
operation carry-out  requested A later green green               green later  -- prerun A
operation delete     two       A later later later               green        -- gbe -q delete m1
operation pin        two       A later later later               green        -- gbe -q pin m1
operation mark       two       A later later later               green        -- gbe -q mark bad m1
operation prune      many      A last last last                  last         -- gbe -q prune
operation green      b-judged  B b     b     b,green             green b      -- hook green
operation red        b-judged  B b     b     b,green             green b      -- hook red
operation finalize   closing   A green green green               green        -- hook finalize
operation wide-backup  wide    A wider wider wider               wide         -- gbe -q backup w1
operation wide-restore wide    A wider wide  wide,wider          wide wider   -- gbe -q restore w0

# prerun NAME: boots NAME up to the end of its prerun. operation_ready did the parts of the boot that are not on the
# disk.
prerun() { hook prerun; }

# operation_ready NAME: does everything that comes before its command.
operation_ready() {
	[[ ${OP_COMMAND[$1]} != "prerun "* ]] || MASKED=yes boot "${OP_COMMAND[$1]#prerun }"
}

operation_run() {
	local -a words

	read -ra words <<<"${OP_COMMAND[$1]}"
	"${words[@]}"
}

# ---- promises after the end of an operation ----

# has_backup ROLE [NAME-PATTERN]: expects a named backup with that tree in this state.
has_backup() {
	local name

	for name in "${!SEEN_BACKUP[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ ${SEEN_BACKUP[$name]} != "$1" || $name != ${2:-*} ]] || return 0
	done
	broken "no backup is ${1}, and it had been promised"
}
data_is() { [[ $SEEN_DATA == "$1" ]] || broken "the data is $SEEN_DATA, and $1 had been promised"; }

ended_stamp() { has_backup first 'adopted-*'; }
ended_backup() { has_backup green "${DEPLOYMENT[A]}_*"; }
ended_upgrade() { has_backup green "${DEPLOYMENT[A]}_*"; }
ended_retry() { data_is green && has_backup b; }
ended_rollback() { data_is green && has_backup b; }
ended_finish() { ended_rollback; }
ended_staged() { ended_rollback; }
ended_by_hand() { has_backup green m2; }
ended_restore() { data_is green && has_backup later && has_backup green m0; }
ended_keep() { data_is green && has_backup later kept && has_backup green m0; }
ended_skip() { ended_restore; }
ended_undo() { data_is later; }
ended_carry_out() { data_is green && has_backup later; }
ended_delete() { [[ ! ${SEEN_BACKUP[m1]-} ]] || broken "m1 is back, and it was deleted"; }
ended_prune() { [[ ${#SEEN_BACKUP[@]} == 1 ]] || broken "there are backups ${!SEEN_BACKUP[*]}"; }
ended_finalize() { has_backup green "${DEPLOYMENT[A]}_*"; }
ended_wide_backup() { has_backup wider w1; }
ended_wide_restore() { data_is wide && has_backup wider && has_backup wide w0; }

# ---- conditions for a start of etcd, after any failure ----

# The new system never has the only copy of the data.
starts_upgrade() { has_backup green; }

# ---- promises at any time ----

# Only another good backup replaces a good one.
always_prune() { has_backup boot-3; }

# ---- promises after the next start ----

next_request() { data_is green; }
next_cancel() { data_is later; }
next_green() { data_is b; }
next_red() { data_is green && has_backup b; }
