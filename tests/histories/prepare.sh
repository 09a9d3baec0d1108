#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# prepare.sh ROOT OUT: makes a real ostree sysroot in ROOT, a mounted file system with boot, proc and run below it.
# The deployments are A, B, C, D and Z, which lacks this program. OUT gets the files with which a history lists,
# stages and deploys them without ostree. These are, for each, its boot entry, its staged-deployment file as ostree
# wrote it, and its directory.
# shellcheck disable=SC2034 # read by ostree.sh
set -euo pipefail

ROOT=$1 OUT=$2
GBE_LIB=$(cd "$(dirname "$0")/../lib" && pwd)
GBE_MEM=$(mktemp -d "$OUT/mem.XXXXXX")
trap 'rm -rf -- "$GBE_MEM"' EXIT
# shellcheck source=../lib/prepared.sh
source "$GBE_LIB/prepared.sh"
# shellcheck source=../lib/ostree.sh
source "$GBE_LIB/ostree.sh"
export OSTREE_SYSROOT_DEBUG=mutable-deployments,test-staged-path LC_ALL=C
unset OSTREE_SYSROOT OSTREE_REPO

# This file stands for greenboot-etcd in a commit. It is never started from there.
program() {
	[[ -e $GBE_MEM/$1 ]] || cp /bin/true "$GBE_MEM/$1"
	echo "$GBE_MEM/$1"
}

booted_is() {
	BOOTED=$1
	echo "ostree=$(boot_link "$1")" >"$ROOT/proc/cmdline"
}

# The deployment was staged from the booted one, and never finalized.
staged_file() {
	stage "$1"
	cp "$ROOT/run/ostree/staged-deployment" "$OUT/$1.staged"
	unstage
	in_booted ostree admin cleanup >/dev/null 2>&1
}

mkdir -p "$ROOT"/{etc,var/lib,usr/lib}
touch "$ROOT/run/ostree-booted"
sysroot_init
for name in A B C D; do os_commit "$name"; done
os_commit Z --without-program
deploy A
booted_is A
for name in B C D Z; do staged_file "$name"; done
deploy B
booted_is B
undeploy A
staged_file A
for name in A C D Z; do deploy "$name"; done
for name in A B C D Z; do
	dir=$(deployment_dir "$name")
	mkdir "$OUT/$name"
	cp -a "$dir" "$dir.origin" "$OUT/$name/"
	grep -l "$(boot_link "$name")\$" "$ROOT"/boot/loader/entries/*.conf |
		xargs cat >"$OUT/$name.entry"
	echo "$name ${DEPLOYMENT[$name]} $(boot_link "$name")"
done >"$OUT/deployments"
