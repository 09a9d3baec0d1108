# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Sources everything that a suite needs, in order.

OWN_NETWORK=yes
GBE_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/lib/scratch.sh
. "$GBE_LIB/scratch.sh"
# shellcheck source=tests/lib/prepared.sh
. "$GBE_LIB/prepared.sh"
# shellcheck source=tests/lib/ostree.sh
. "$GBE_LIB/ostree.sh"
# shellcheck source=tests/lib/etcd.sh
. "$GBE_LIB/etcd.sh"
# shellcheck source=tests/lib/boot.sh
. "$GBE_LIB/boot.sh"
# shellcheck source=tests/lib/greenboot.sh
. "$GBE_LIB/greenboot.sh"
# shellcheck source=tests/lib/case.sh
. "$GBE_LIB/case.sh"
# shellcheck source=tests/lib/scenes.sh
. "$GBE_LIB/scenes.sh"
