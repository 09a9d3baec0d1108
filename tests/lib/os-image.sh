# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Operating system images that boot. An image has Debian, etcd, one flavour of greenboot, a user of etcd
# (tests/system/image) and the installed project. greenboot comes from tests/system/greenboot, or from the checkout at
# GREENBOOT_TREE. Sourced after ostree.sh and greenboot.sh, whose os_commit and deploy know the images by name.

# The words that NAME is made with:
#    next                  the next Debian
#    without               without this program
#    faults                this program with fault points
#    writes                the user of etcd changes the data there
#    bad                   the health check fails
#    hangs                 the boot hangs before greenboot is asked
#    shell, rust, none     greenboot, if it is not the device's flavour
declare -gA OS_IS=([A]="" [B]="writes" [C]="writes")
OS_KIND=this # the base of what is not `next`
OS_OVER=()   # trees that are laid over all of it
OS_COMMIT=() # more options of `ostree commit`

# os_is NAME WORD...: says what NAME is made with, before it is deployed or staged.
os_is() {
	local name=$1
	shift
	OS_IS[$name]="$*"
}

# Makes the trees that are laid over Debian's, once a suite.
os_layers() {
	local flags layer top=$GBE_MEM/layers

	OS_BASE=$("${OS_BASE_MAKER:-$GBE_TOP/tests/system/base}" "$@") || return 1
	mkdir -p "$top"
	cp -rP "$GBE_TOP/tests/system/image" "$top/image"
	cp "$GBE_LIB/etcd.sh" "$top/image/usr/libexec/test/"
	read -ra flags < <(pkg-config --cflags --libs ostree-1)
	${CC:-cc} -o "$top/image/usr/libexec/test/ostree-order" "$GBE_LIB/ostree-order.c" "${flags[@]}"
	enable "$top/image" workload.service
	for layer in shell rust; do
		greenboot_layer "$layer" "$top/$layer"
	done
	chown -R 0:0 "$top"
}

# tree_flavour: prints the flavour of the checkout at GREENBOOT_TREE; empty without a checkout.
tree_flavour() {
	if [[ -e ${GREENBOOT_TREE-}/usr/libexec/greenboot/redboot-auto-reboot ]]; then
		echo shell
	elif [[ ${GREENBOOT_TREE-} ]]; then
		echo rust
	fi
}

# need_flavour FLAVOUR: skips the case if the checkout has the other flavour.
need_flavour() {
	local only
	only=$(tree_flavour)
	[[ ! $only || $1 =~ ^($only|none)$ ]] || skip_case "optional: GREENBOOT_TREE is the flavour in $only"
}

# greenboot_layer FLAVOUR DIR: installs that flavour into DIR.
greenboot_layer() {
	local unit

	if [[ $1 == "$(tree_flavour)" ]]; then
		greenboot_from_tree "$2"
	else
		cp -rP "$GBE_TOP/tests/system/greenboot/$1" "$2"
	fi
	# Fedora has /etc/motd.d, to which one flavour writes.
	mkdir -p "$2/usr/etc/greenboot" "$2/usr/etc/motd.d" "$2/usr/bin"
	# A system with this file is a bootc host, and gets more questions than `rollback`.
	[[ $1 == shell ]] || ln -sf ../libexec/test/rollback "$2/usr/bin/bootc"
	echo "GREENBOOT_MAX_BOOT_ATTEMPTS=$MAX_BOOT_ATTEMPTS" >"$2/usr/etc/greenboot/greenboot.conf"
	mkdir -p "$2"/usr/lib/greenboot/{check/{required,wanted},green,red}.d
	for unit in "$2"/usr/lib/systemd/system/*; do
		enable "$2" "${unit##*/}"
	done
}

# Installs what its package installs, except its own checks, which ask the network. The flavour in Rust must have been
# built in the checkout.
greenboot_from_tree() {
	local binary=$GREENBOOT_TREE/target/release/greenboot

	mkdir -p "$1/usr/lib/systemd" "$1/usr/libexec"
	cp -rP "$GREENBOOT_TREE/usr/lib/systemd/system" "$1/usr/lib/systemd/"
	if [[ $(tree_flavour) == shell ]]; then
		cp -rP "$GREENBOOT_TREE/usr/libexec/greenboot" "$1/usr/libexec/"
	elif [[ -x $binary ]]; then
		install -D -m 0755 "$binary" "$1/usr/libexec/greenboot/greenboot"
	else
		echo "$binary is not there: cargo build --release" >&2
		return 1
	fi
}

# enable TREE UNIT: makes the links that [Install] asks for, in the image's /etc.
enable() {
	local unit=$1/usr/lib/systemd/system/$2 kind target dir

	for kind in wants requires; do
		while read -r target; do
			dir=$1/usr/etc/systemd/system/$target.$kind
			mkdir -p "$dir"
			ln -sf "/usr/lib/systemd/system/$2" "$dir/$2"
		done < <(case $kind in
			wants) sed -n 's/^WantedBy=//p' "$unit" ;;
			*) sed -n 's/^RequiredBy=//p' "$unit" ;;
			esac)
	done
}

# os_commit NAME: commits the image as ref os/NAME of ROOT's repository.
os_commit() {
	local words=" ${OS_IS[$1]-} " base=$OS_KIND program=program greenboot=$FLAVOUR word
	local extra trees=()

	extra=$(mktemp -d "$GBE_MEM/extra.XXXXXX")
	chmod 0755 "$extra"
	mkdir -p "$extra/usr/lib/test"
	for word in $words; do
		case $word in
		next) base=next ;;
		without) program= ;;
		faults) program=faults ;;
		shell | rust | none) greenboot=$word ;;
		writes | bad | hangs) : >"$extra/usr/lib/test/$word" ;;
		*) echo "no such kind of image: $word" >&2 && return 1 ;;
		esac
	done
	printf 'ID=test\nNAME="Test OS"\nPRETTY_NAME="Test OS %s"\nVERSION_ID=%s\n' "$1" "$1" \
		>"$extra/usr/lib/os-release"
	[[ ! $program ]] || trees+=("--tree=dir=$OS_PROGRAMS/$program")
	[[ $greenboot == none ]] || trees+=("--tree=dir=$GBE_MEM/layers/$greenboot")
	ostree --repo="$ROOT/ostree/repo" refs --list | grep -qx "base/$base" ||
		ostree --repo="$ROOT/ostree/repo" pull-local --disable-fsync "$OS_BASE" "base/$base"
	ostree --repo="$ROOT/ostree/repo" commit --branch="os/$1" --fsync=false -s "$1" "${OS_COMMIT[@]}" \
		--tree=ref="base/$base" --tree=dir="$GBE_MEM/layers/image" "${trees[@]}" \
		--tree=dir="$extra" "${OS_OVER[@]/#/--tree=dir=}"
	rm -rf -- "$extra"
}

# tree_chroot COMMAND...: runs COMMAND in the image at TREE, as an image build does.
# shellcheck disable=SC2016 # expanded inside
tree_chroot() {
	unshare --mount --propagation private bash -euc '
		mount -t proc proc "$0/proc"
		mount --rbind /dev "$0/dev"
		mount --rbind /sys "$0/sys"
		mount -t tmpfs tmpfs "$0/var"
		mkdir -p "$0"/var/{tmp,roothome} "$0/sysroot/tmp"
		exec chroot "$0" "$@"' "$TREE" "$@"
}
