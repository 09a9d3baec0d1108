#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# replay.sh OPERATION@KIND/NUMBER [COMMAND...]: replays a state that broke a promise, and prints what the cut left and
# what the next start does. COMMAND runs in between, with the state mounted: tests/crash/replay.sh restore@xfs/7 bash

# shellcheck disable=SC2034
what=${1:?OPERATION@KIND/NUMBER}
KIND=${what#*@} KIND=${KIND%/*} OP=${what%@*} NUMBER=${what##*/}
GBE_CRASH=$(cd "$(dirname "$0")" && pwd)
TEST_LOGS=${TEST_LOGS:-$(cd "$GBE_CRASH/../.." && pwd)/build/test-logs}
# shellcheck source=tests/crash/crash.sh
. "$GBE_CRASH/crash.sh"
KEPT=$TEST_LOGS/crash-failed/$OP@$KIND
[[ -e $KEPT/log ]] || { echo "nothing was kept of $OP@$KIND in $KEPT" >&2 && exit 2; }
isolate "$@"
shift
# shellcheck source=/dev/null
. "$KEPT/roles" && . "$KEPT/plan"
scene_dir() { echo "$KEPT"; }
disk_attach
disk load "$KEPT/image"
disk loadlog "$KEPT/log"
disk plan "$BUDGET" "$SEED"
echo "state $NUMBER of $ANSWER"
disk describe "$NUMBER"
tr ' ' '\n' <<<"$ANSWER"
disk state "$NUMBER"
read -r _ _ _ WHEN _ <<<"$ANSWER"
disk_mount || { echo "BROKEN: it cannot be mounted" && exit 1; }
"$LOOK" "$ROOT"
find "$ROOT/var/lib" -path '*/member/*' -prune -o -printf '%P %s\n'
[[ $# == 0 ]] || "$@"
check_cut "$OP" "$WHEN" || echo "BROKEN: $BROKEN"
cat "$GBE_MEM/start.log"
"$LOOK" "$ROOT"
disk_umount
