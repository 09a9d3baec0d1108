# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Sources everything that a suite of machines needs, in order. MACHINES is nspawn (the default) or vm.

GBE_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/lib/scratch.sh
. "$GBE_LIB/scratch.sh"
# shellcheck source=tests/lib/prepared.sh
. "$GBE_LIB/prepared.sh"
# shellcheck source=tests/lib/ostree.sh
. "$GBE_LIB/ostree.sh"
# shellcheck source=tests/lib/etcd.sh
. "$GBE_LIB/etcd.sh"
# shellcheck source=tests/lib/greenboot.sh
. "$GBE_LIB/greenboot.sh"
# shellcheck source=tests/lib/case.sh
. "$GBE_LIB/case.sh"
# shellcheck source=tests/lib/os-image.sh
. "$GBE_LIB/os-image.sh"
if [[ ${MACHINES-} == vm ]]; then
	# shellcheck source=tests/lib/grub.sh
	. "$GBE_LIB/grub.sh"
	# shellcheck source=tests/lib/vm.sh
	. "$GBE_LIB/vm.sh"
else
	# shellcheck source=tests/lib/nspawn.sh
	. "$GBE_LIB/nspawn.sh"
fi
# shellcheck source=tests/lib/stories.sh
. "$GBE_LIB/stories.sh"
