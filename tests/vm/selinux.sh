#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A bad update while SELinux enforces Debian's policy: the data has its earlier labels, and a relabel does not change
# those in backups.

# shellcheck disable=SC2034,SC2119,SC2153,SC2317 # cases are called by name
MACHINES=vm
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

if [[ ${LEVEL:-ci} == ci ]]; then
	echo "skip selinux: optional at LEVEL=ci, as it takes some five minutes"
	exit 0
fi
MAX_BOOT_ATTEMPTS=1
OF_ETCD=/var/lib/etcd
STORE=/var/lib/greenboot-etcd/backups
CONTEXTS=selinux/default/contexts/files/file_contexts
# ostree's finalization runs semodule in bwrap, for a policy that people have changed.
POLICY_TOOLS=(restorecon setfiles getenforce semodule bwrap)

# put_program PATH DIR: copies it with its libraries.
put_program() {
	local path

	cp -P --parents "$1" "$2"
	for path in $(ldd "$1" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p'); do
		install -D -m 0755 "$(realpath "$path")" "$2/usr${path#/usr}"
	done
}

# policy_layer DIR: puts Debian's policy and our rules there, like the package. Policy and tools are those of this
# machine, whose release the images have.
policy_layer() {
	local root=$GBE_MEM/policy tool dropin=$1/usr/lib/systemd/system/workload.service.d

	for tool in "${POLICY_TOOLS[@]}"; do
		if ! command -v "$tool" >/dev/null; then
			echo "skip $SUITE: $tool is not installed (make deps-all)"
			exit 0
		fi
	done
	mkdir -p "$root/etc" "$root/var/lib/selinux" "$1/usr/sbin" "$dropin"
	cp -a /etc/selinux "$root/etc/"
	cp -a /var/lib/selinux/default "$root/var/lib/selinux/"
	cat >"$GBE_MEM/device.cil" <<-EOF
		; Debian has no rule for etcd. Fedora has: the data's labels are not those of what lies around it.
		(type test_data_t)
		(type test_log_t)
		(roletype object_r test_data_t)
		(roletype object_r test_log_t)
		(typeattributeset file_type (test_data_t test_log_t))
		(filecon "$OF_ETCD(/.*)?" any (system_u object_r test_data_t ((s0) (s0))))
		; Nor for ostree: links such as /usr/local, /srv and /ostree, what is below /ostree, its generator's way to
		; write a unit. tmpfiles.d makes the directories of such an image.
		(allow domain usr_t (lnk_file (getattr read)))
		(allow domain default_t (lnk_file (getattr read)))
		(allow domain default_t (dir (getattr open read search)))
		(allow systemd_generator_t init_runtime_t (file (link)))
		(typepermissive systemd_tmpfiles_t)
	EOF
	semodule -p "$root" -s default -n -X 200 -i "$GBE_MEM/device.cil" \
		-i "$OS_PROGRAMS/program/usr/share/selinux/packages/targeted/greenboot-etcd.cil" || return 1
	sed -i 's/^SELINUX=.*/SELINUX=enforcing/' "$root/etc/selinux/config"
	# The store of modules, one for each deployment, in the directory that Fedora uses.
	cp -a "$root/var/lib/selinux/default/." "$root/etc/selinux/default/"
	sed -i -e '/^ *store-root/d' -e '$a store-root=/etc/selinux' "$root/etc/selinux/semanage.conf"
	mv "$root/etc" "$1/usr/"
	for tool in "${POLICY_TOOLS[@]}"; do
		put_program "$(command -v "$tool")" "$1"
	done
	# Runs in each boot.
	printf '[Service]\nExecStartPre=/bin/sh -c "getenforce >>/var/log/enforced"\n' >"$dropin/enforced.conf"
	chown -R 0:0 "$1"
}

# label_disk: labels the files that are in no commit, like an installer. ostree labels them only if SELinux is on.
label_disk() {
	local contexts=$GBE_MEM/layers/selinux/usr/etc/$CONTEXTS stateroot=$ROOT/ostree/deploy/$STATEROOT

	setfiles -m -r "$(deployment_dir A)" "$contexts" "$(deployment_dir A)/etc"
	setfiles -m -r "$stateroot" "$contexts" "$VAR"
	setfiles -m -r "$ROOT" -e "$stateroot" -e "$ROOT/ostree/repo/objects" "$contexts" "$ROOT"
	setfiles -m -r "$ROOT" "$contexts" "$ROOT/boot"
}

# labels DIR: prints the label of each file and directory, except the nonce and the files that etcd writes at each
# start.
labels() { inside find "$1" ! -name '*.tmp' ! -name .greenboot-etcd-owner -printf '%P %Z\n' | sort; }

update_red() {
	local data backup

	os_is B writes bad
	device "$1"
	label_disk
	a_comes_up
	inside restorecon -RF /var
	# A label that a container's runtime or a person gives to one file, without a rule.
	inside chcon -l s0:c3,c7 "$OF_ETCD"/default/member/snap/db
	inside bash -c "chcon -t test_log_t $OF_ETCD/default/member/wal/*.wal"
	gbe backup snap --stop
	data=$(labels "$OF_ETCD")
	assert_eq "labels of a backup" "$(labels "$STORE/snap/data")" "$data"
	into_b
	booted_in_turn B A
	found_each B "$A_STATE"
	a_is_back
	assert_eq "labels of A's data" "$(labels "$OF_ETCD")" "$data"
	inside restorecon -RF /var
	assert_eq "label of the manifest" "$(inside stat -c %C "$STORE/snap/manifest.json")" system_u:object_r:var_lib_t:s0
	for backup in $(inside find "$STORE" -mindepth 2 -maxdepth 2 -name data); do
		assert_eq "labels in $backup after a relabel" "$(labels "$backup")" "$data"
	done
	assert_eq "SELinux" "$(inside cat /var/log/enforced | tr '\n' ' ')" "Enforcing Enforcing Enforcing "
	shutdown
}

suite_begin "$@"
machine_begin
if ! policy_layer "$GBE_MEM/layers/selinux"; then
	echo "not ok $SUITE: no policy could be made"
	exit 1
fi
OS_OVER+=("$GBE_MEM/layers/selinux")
OS_COMMIT=(--selinux-policy="$GBE_MEM/layers/selinux")
VM_WORDS+=(security=selinux)
run_case update-red-enforcing@xfs update_red xfs
machine_end
suite_end
