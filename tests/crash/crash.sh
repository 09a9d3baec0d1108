# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Sources everything that a suite of tests/crash needs. GBE_CRASH is this directory, KIND the file system.

# shellcheck source=tests/lib/all.sh
. "$GBE_CRASH/../lib/all.sh"
# shellcheck source=tests/crash/scenes.sh
. "$GBE_CRASH/scenes.sh"
# shellcheck source=tests/crash/operations.sh
. "$GBE_CRASH/operations.sh"
# shellcheck source=tests/crash/cut.sh
. "$GBE_CRASH/cut.sh"
# shellcheck source=tests/crash/power.sh
. "$GBE_CRASH/power.sh"
# shellcheck source=tests/crash/kills.sh
. "$GBE_CRASH/kills.sh"
# shellcheck source=tests/crash/errors.sh
. "$GBE_CRASH/errors.sh"
# shellcheck source=tests/crash/disks.sh
. "$GBE_CRASH/disks.sh"

STATES=0 ETCD_RUNS=0 DISTINCT=0 STATE_OF_ETCD=
SEED=${SEED:-1}
