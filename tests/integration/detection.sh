#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Without a configuration: what `config`, `preflight` and `status` say about the installed systems. Unit tests check
# the detection (sys-installed, core-systems). tests/system/microshift.sh plays it in a machine.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

UNITS=usr/lib/systemd/system
BACKUPS=var/lib/microshift-backups

# image UNIT...: makes a root with the program's unit and these.
image() {
	local unit

	root_new none
	mkdir -p "$ROOT/$UNITS" "$ROOT/etc/systemd/system"
	for unit in greenboot-etcd-prerun.service "$@"; do
		echo "[Service]" >"$ROOT/$UNITS/$unit"
	done
}
site() { # CONFIGURATION-LINE...
	mkdir -p "$ROOT/etc/greenboot-etcd"
	printf '%s\n' "$@" >"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf"
}
# set_to KEY VALUE ORIGIN: checks a key of [etcd].
set_to() {
	assert_json ".settings[] | select(.group == \"etcd\" and .key == \"$1\") | \"\(.value) \(.origin)\"" "$2 $3" config
}
# finding CHECK: prints "LEVEL TEXT" of preflight, one a line.
finding() {
	gbe --json preflight >"$GBE_MEM/preflight" || true
	jq -r ".findings[] | select(.check == \"$1\") | .result + \" \" + .text" "$GBE_MEM/preflight"
}
says() { assert_match "status" "$(gbe status | head -n 1)" "$1"; }

one_system() {
	image microshift.service
	set_to data-dir /var/lib/microshift "detected: MicroShift"
	set_to version-file version "detected: MicroShift"
	set_to binary /usr/bin/etcd null
	assert_match "config" "$(gbe config)" $'*\n# detected: MicroShift\nservice=microshift.service\n*'
	assert_exit 0 gbe config --check
	assert_eq "prerun" "$(finding prerun)" ""
	# A drop-in file adds to the unit, and a mask removes it.
	site '[etcd]' cert=/c key=/k '[restore]' retry-trial=no
	set_to cert /c "/etc/greenboot-etcd/greenboot-etcd.conf:2"
	set_to service microshift.service "detected: MicroShift"
	ln -s /dev/null "$ROOT/etc/systemd/system/microshift.service"
	set_to service etcd.service null
	says "Not protected: there is no etcd.service"
}

another_system() {
	image microshift.service etcd.service
	site '[etcd]' service=etcd.service
	set_to data-dir /var/lib/etcd null
	says "Not protected: microshift.service is here and not protected: service= of [[]etcd[]] is etcd.service"
	assert_match "preflight" "$(finding prerun)" "bad microshift.service is here and not protected: *"
	assert_exit 0 gbe config --check
	site '[etcd]' service=
	says "Not protected: service= of [[]etcd[]] is empty*"
	assert_eq "preflight" "$(finding prerun)" ""
}

several_systems() {
	local asks="MicroShift and etcd are here, and no file says which one to protect: set *"

	image microshift.service etcd.service
	set_to service etcd.service null
	says "Not protected: $asks"
	assert_exit 2 gbe config --check
	assert_match "config --check" "$ERR" "*$asks"
	assert_match "config" "$(gbe config)" "# warning: $asks"
	assert_match "preflight" "$(finding configuration)" "bad $asks"
	# The enabled unit is chosen.
	mkdir "$ROOT/$UNITS/multi-user.target.wants"
	ln -s ../microshift.service "$ROOT/$UNITS/multi-user.target.wants/"
	set_to service microshift.service "detected: MicroShift"
	assert_exit 0 gbe config --check
	ln -s ../etcd.service "$ROOT/$UNITS/multi-user.target.wants/"
	assert_exit 2 gbe config --check
}

# k3s_yaml SERVICE TEXT: writes TEXT as k3s's configuration, and expects that SERVICE is protected.
k3s_yaml() {
	printf '%b\n' "$2" >"$ROOT/etc/rancher/k3s/config.yaml"
	assert_json '.settings[] | select(.group == "etcd" and .key == "service").value' "$1" config
}

# k3s's configuration in the forms that people write. A message names a line that cannot be parsed, with its number.
k3s_configured() {
	image
	mkdir -p "$ROOT/etc/rancher/k3s"
	printf '[Service]\nExecStart=/usr/bin/k3s server\n' >"$ROOT/$UNITS/k3s.service"
	says "Not protected: k3s.service keeps its data in SQLite, which greenboot-etcd does not protect"
	k3s_yaml k3s.service 'cluster-init: true'
	k3s_yaml k3s.service '"cluster-init": true'
	k3s_yaml k3s.service 'cluster-init : true'
	k3s_yaml k3s.service '{cluster-init: true}'
	k3s_yaml k3s.service 'x: &x yes\ncluster-init: *x # begin'
	k3s_yaml etcd.service 'cluster-init: False'
	k3s_yaml etcd.service 'cluster-init: no'
	k3s_yaml etcd.service 'token: |\n  x\n  cluster-init: true'
	k3s_yaml etcd.service 'cluster-init: true\ndisable-etcd : true'
	k3s_yaml etcd.service 'cluster-init: true\n"data-dir": /data/k3s'
	says "Not protected: k3s.service is here and not protected: its data is in /data/k3s; set data-dir=/data/k3s/server *"
	assert_match "preflight" "$(finding prerun)" "bad k3s.service is here and not protected: its data is in /data/k3s*"
	assert_match "config" "$(gbe config)" "# warning: k3s.service is here and not protected: *"
	assert_exit 0 gbe config --check
	site '[etcd]' data-dir=/data/k3s/server service=k3s.service
	says "Not protected: this is not an ostree system*"
	rm "$ROOT/etc/greenboot-etcd/greenboot-etcd.conf"
	k3s_yaml etcd.service 'a: b\ncluster-init: ['
	says "Not protected: k3s.service is here and not protected: /etc/rancher/k3s/config.yaml:3: *"
	k3s_yaml k3s.service 'cluster-init: true'
	printf '[Service]\nExecStart=/usr/bin/k3s server -d /data/k3s\n' >"$ROOT/$UNITS/k3s.service"
	says "Not protected: k3s.service is here and not protected: its data is in /data/k3s;*"
}

# Known systems that are not protected.
unsupported_systems() {
	image rke2-server.service kubelet.service etcd.service
	mkdir -p "$ROOT/etc/kubernetes/manifests" "$ROOT/$UNITS/multi-user.target.wants"
	says "Not protected: this is not an ostree system*"
	printf '[Service]\nExecStart=/usr/bin/rke2 server\n' >"$ROOT/$UNITS/rke2-server.service"
	ln -s ../rke2-server.service "$ROOT/$UNITS/multi-user.target.wants/"
	says "Not protected: rke2-server.service is here and not protected: not supported: its etcd is a static pod*"
	set_to service etcd.service "detected: etcd"
	rm "$ROOT/$UNITS/multi-user.target.wants/rke2-server.service"
	ln -s ../kubelet.service "$ROOT/$UNITS/multi-user.target.wants/"
	echo "kind: Pod" >"$ROOT/etc/kubernetes/manifests/etcd.yaml"
	says "Not protected: kubelet.service is here and not protected: not supported: kubeadm's etcd *"
	rm "$ROOT/$UNITS/multi-user.target.wants/kubelet.service"
	printf '[Service]\nExecStart=/usr/bin/k0s controller\n' >"$ROOT/$UNITS/k0scontroller.service"
	ln -s ../k0scontroller.service "$ROOT/$UNITS/multi-user.target.wants/"
	says "Not protected: k0scontroller.service is here and not protected: not supported: *"
}

# MicroShift's own settings give a note only.
microshift_itself() {
	image microshift.service
	assert_eq "preflight" "$(finding microshift)" ""
	mkdir -p "$ROOT/$BACKUPS/"{one,two} "$ROOT/etc/greenboot/red.d"
	touch "$ROOT/$BACKUPS/health.json" "$ROOT/etc/greenboot/red.d/40_microshift_pre_rollback.sh"
	assert_match "preflight" "$(finding microshift)" \
		$'note *(2 now)*\nnote /etc/greenboot/red.d/40_microshift_pre_rollback.sh leaves the marker *'
	touch "$ROOT/$BACKUPS/restore"
	assert_match "preflight" "$(finding microshift | tail -n 1)" "note the marker /$BACKUPS/restore is there*"
	site '[etcd]' service=etcd.service
	assert_eq "preflight" "$(finding microshift)" ""
}

suite_begin "$@"
run_case detection-one one_system
run_case detection-another another_system
run_case detection-several several_systems
run_case detection-k3s k3s_configured
run_case detection-unsupported unsupported_systems
run_case detection-microshift microshift_itself
suite_end
