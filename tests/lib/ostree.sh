# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# A real ostree sysroot in ROOT. Tests give deployments short names: A, B, A.1. Sourced after scratch.sh.

STATEROOT=fedora-iot
declare -gA DEPLOYMENT=() # name -> deployment id, as the program prints it

# sysroot_init [STATEROOT]: makes the sysroot.
sysroot_init() {
	STATEROOT=${1:-fedora-iot}
	DEPLOYMENT=()
	{
		ostree admin init-fs --modern "$ROOT"
		ostree admin --sysroot="$ROOT" os-init "$STATEROOT"
		ostree --repo="$ROOT/ostree/repo" config set sysroot.bootloader none
	} >/dev/null
}

# os_commit NAME [--without-program]: commits an operating system image as ref os/NAME. A second call for NAME makes a
# new commit. Its version is OS_VERSION[NAME], or NAME.
declare -A OS_VERSION=()
os_commit() {
	local tree l

	tree=$(mktemp -d "$GBE_MEM/tree.XXXXXX")
	mkdir -p "$tree"/usr/{bin,sbin,lib/modules/6.1.0,lib64,etc,libexec} \
		"$tree"/{sysroot,proc,sys,run,dev,tmp,var,boot}
	for l in bin sbin lib lib64; do
		ln -s "usr/$l" "$tree/$l"
	done
	ln -s sysroot/ostree "$tree/ostree"
	echo "a kernel" >"$tree/usr/lib/modules/6.1.0/vmlinuz"
	echo "an initramfs" >"$tree/usr/lib/modules/6.1.0/initramfs.img"
	printf 'ID=test\nPRETTY_NAME="Test OS %s"\nVERSION_ID=%s\n' "$1" "${OS_VERSION[$1]-$1}" \
		>"$tree/usr/lib/os-release"
	if [[ ${2-} != --without-program ]]; then
		mkdir "$tree/usr/libexec/greenboot-etcd"
		cp "$(program prerun)" "$(program finalize)" "$tree/usr/libexec/greenboot-etcd/"
	fi
	ostree --repo="$ROOT/ostree/repo" commit --branch="os/$1" --tree=dir="$tree" \
		--fsync=false -s "$1" >/dev/null
	rm -rf -- "$tree"
}

os_commit_once() { [[ -e $ROOT/ostree/repo/refs/heads/os/$1 ]] || os_commit "$1"; }

# ORDER has the deployments in boot order, as the boot loader's entries have them.
sysroot_order() {
	local entry key value version link dir
	{ local - && set +x; } 2>/dev/null

	ORDER=()
	for entry in "$ROOT"/boot/loader/entries/*.conf; do
		[[ -e $entry ]] || continue
		while read -r key value; do
			case $key in
			version) version=$value ;;
			options) link=${value##*ostree=} ;;
			esac
		done <"$entry"
		for dir in "$ROOT/ostree/deploy/$STATEROOT/deploy"/*.[0-9] "$ROOT/ostree/deploy/$STATEROOT/deploy"/*.[0-9][0-9]; do
			[[ ! $dir -ef $ROOT${link%% *} ]] || ORDER[1000 - version]=$STATEROOT-${dir##*/}
		done
	done
	ORDER=("${ORDER[@]}")
}

# Prints ORDER, one id a line.
sysroot_list() {
	sysroot_order
	((${#ORDER[@]} == 0)) || printf '%s\n' "${ORDER[@]}"
}

# deployment_index NAME: prints its place in the boot order.
deployment_index() {
	local n

	sysroot_order
	for n in "${!ORDER[@]}"; do
		[[ ${ORDER[n]} != "${DEPLOYMENT[$1]}" ]] || { echo "$n" && return; }
	done
	echo "$1 (${DEPLOYMENT[$1]}) is not deployed" >&2
	return 1
}

# deployment_dir NAME|ID: prints its directory.
deployment_dir() {
	local id=${DEPLOYMENT[$1]-$1}
	echo "$ROOT/ostree/deploy/$STATEROOT/deploy/${id#"$STATEROOT-"}"
}

# deployment_name ID: prints its short name.
deployment_name() {
	local name
	for name in "${!DEPLOYMENT[@]}"; do
		[[ ${DEPLOYMENT[$name]} != "$1" ]] || { echo "$name" && return; }
	done
	echo "$1"
}

# deploy NAME [COMMIT-NAME] [OPTION...]: deploys the commit os/COMMIT-NAME (default NAME) and calls the deployment
# NAME. Makes the commit if it is missing. All other deployments are kept.
deploy() {
	local name=$1 commit=${2:-$1} before
	shift
	[[ $# == 0 ]] || shift
	os_commit_once "$commit"
	before=$(sysroot_list)
	ostree admin --sysroot="$ROOT" deploy --retain --os="$STATEROOT" "$@" "os/$commit" \
		>/dev/null 2>&1
	deployment_learn "$name" "$before"
	cmdline_follows
}

# The new entry of the list is called NAME.
deployment_learn() {
	local id
	sysroot_order
	for id in "${ORDER[@]}"; do
		if [[ $'\n'$2$'\n' != *$'\n'"$id"$'\n'* ]]; then
			DEPLOYMENT[$1]=$id
			return
		fi
	done
	echo "no new deployment for $1" >&2
	return 1
}

# in_booted COMMAND...: runs a command with the booted deployment as /, which ostree needs to stage.
in_booted() {
	prepared_tool in-booted
	"$PREPARED/in-booted" "$(deployment_dir "$BOOTED")" "$ROOT" "$STATEROOT" "$@"
}

# stage NAME [COMMIT-NAME]: stages a deployment from the booted one. The next orderly shutdown finalizes it.
stage() {
	local name=$1 commit=${2:-$1} serial=0 next
	os_commit_once "$commit"
	in_booted ostree admin deploy --stage --os="$STATEROOT" "os/$commit" >/dev/null 2>&1
	staged
	# The last directory of that commit is the deployment's: ostree has made it already.
	commit=$(<"$ROOT/ostree/repo/refs/heads/os/$commit")
	for next in "$ROOT/ostree/deploy/$STATEROOT/deploy/$commit".*; do
		next=${next##*.}
		[[ ! $next =~ ^[0-9]+$ ]] || ((next <= serial)) || serial=$next
	done
	DEPLOYMENT[$name]=$STATEROOT-$commit.$serial
}

staged() { [[ -e $ROOT/run/ostree/staged-deployment ]]; }
unstage() { rm -f "$ROOT/run/ostree/staged-deployment"; }

# Does the work of ostree-finalize-staged.service at shutdown.
finalize_staged() {
	! staged || in_booted ostree admin finalize-staged >/dev/null 2>&1
	cmdline_follows
}

# boot_link NAME: prints the value of ostree= for it now.
boot_link() {
	local dir link

	dir=$(deployment_dir "$1")
	for link in "$ROOT"/ostree/boot.[01]/"$STATEROOT"/*/*; do
		[[ ! $link -ef $dir ]] || { echo "${link#"$ROOT"}" && return; }
	done
	return 1
}

# Each change of the list gives these links new numbers. A running system knows its deployment by its root directory.
# Below --root only the command line names it, so the command line is adapted.
cmdline_follows() {
	local link

	[[ -s $ROOT/proc/cmdline && $BOOTED ]] || return 0
	link=$(boot_link "$BOOTED") || return 0
	sed -i "s|ostree=[^ ]*|ostree=$link|" "$ROOT/proc/cmdline"
}

undeploy() {
	ostree admin --sysroot="$ROOT" undeploy "$(deployment_index "$1")" >/dev/null 2>&1
	cmdline_follows
}

pin() { ostree admin --sysroot="$ROOT" pin "$(deployment_index "$1")" >/dev/null; }
unpin() { ostree admin --sysroot="$ROOT" pin --unpin "$(deployment_index "$1")" >/dev/null; }

# make_default NAME: moves it to the front of the boot order, like `rpm-ostree rollback` and `bootc rollback`. The
# ostree command has no verb for this.
make_default() {
	prepared_tool ostree-order
	"$PREPARED/ostree-order" "$ROOT" "$(deployment_index "$1")"
	cmdline_follows
}
