#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# greenboot-etcd-generator: its output, and the cases in which it writes nothing, so that etcd starts on the existing
# data. The effect on systemd is tested in tests/integration/boot.sh.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

UNITS=usr/lib/systemd/system
ALL="etcd.service greenboot-etcd-defrag.service greenboot-etcd-defrag.timer greenboot-etcd-finalize.service greenboot-etcd-green.service \
greenboot-etcd-monitor.service greenboot-etcd-monitor.timer greenboot-etcd-preflight.service \
greenboot-etcd-prerun.service greenboot-etcd-rejoin.service greenboot-etcd-scrub.service greenboot-etcd-used.service greenboot-etcd-used.timer \
greenboot-healthcheck.service"

# root_with_units: makes a root as the packages of the program and of etcd leave it.
root_with_units() {
	root_new none
	mkdir -p "$ROOT/$UNITS" "$ROOT/etc/systemd/system" "$ROOT/run/systemd/system"
	echo "root=/dev/vda2 rw" >"$ROOT/proc/cmdline"
	touch_unit greenboot-etcd-prerun.service
	touch_unit etcd.service
}
touch_unit() { echo "# a unit" >"$ROOT/$UNITS/$1"; }
site() { # CONFIGURATION-LINE...
	mkdir -p "$ROOT/etc/greenboot-etcd"
	printf '%s\n' "$@" >"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf"
}

# generate: writes the output to OUT_DIR. GENERATED names the units that have a drop-in.
generate() {
	OUT_DIR=$ROOT/generated
	rm -rf "$OUT_DIR"
	mkdir -p "$OUT_DIR"/{normal,early,late}
	assert_exit 0 "$(program generator)" --root="$ROOT" "$OUT_DIR"/{normal,early,late}
	assert_eq "early and late" "$(find "$OUT_DIR/early" "$OUT_DIR/late" -mindepth 1)" ""
	assert_eq "names" "$(find "$OUT_DIR" -mindepth 1 ! -type d ! -name 50-greenboot-etcd.conf)" ""
	GENERATED=$(cd "$OUT_DIR/normal" && find . -name '*.conf' | sed 's|^\./||; s|\.d/.*||' |
		sort | paste -sd' ')
}
nothing() { generate && assert_eq "generated" "$GENERATED" ""; }
# has UNIT LINE, has_not UNIT LINE
dropin() { echo "$OUT_DIR/normal/$1.d/50-greenboot-etcd.conf"; }
has() { grep -qxF -- "$2" "$(dropin "$1")" || fail "$1 has no $2"; }
has_not() { ! grep -qF -- "$2" "$(dropin "$1")" || fail "$1 has $2"; }

by_default() {
	local before unit
	root_with_units
	before=$(cd "$ROOT" && find . | sort)
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
	has etcd.service "Requires=greenboot-etcd-prerun.service"
	has etcd.service "After=greenboot-etcd-prerun.service"
	has etcd.service "Wants=greenboot-etcd-finalize.service greenboot-etcd-preflight.path \
greenboot-etcd-renew.timer greenboot-etcd-scrub.timer greenboot-etcd-used.timer greenboot-etcd-monitor.timer greenboot-etcd-defrag.timer greenboot-etcd-rejoin.timer"
	has greenboot-etcd-monitor.timer "OnUnitActiveSec=300s"
	has greenboot-healthcheck.service "After=greenboot-etcd-prerun.service"
	has greenboot-healthcheck.service "Wants=greenboot-etcd-green.service"
	has_not greenboot-healthcheck.service etcd.service
	has greenboot-etcd-finalize.service "Before=etcd.service"
	has_not greenboot-etcd-prerun.service etcd.service
	has_not greenboot-etcd-scrub.service etcd.service
	has greenboot-etcd-used.timer "OnActiveSec=3600s"
	has greenboot-etcd-scrub.service 'RequiresMountsFor="/var/lib/etcd"'
	for unit in prerun finalize green preflight used; do
		has "greenboot-etcd-$unit.service" 'RequiresMountsFor="/var/lib/etcd"'
		has "greenboot-etcd-$unit.service" 'ReadWritePaths="-/var"'
	done
	for unit in scrub monitor; do
		has "greenboot-etcd-$unit.service" 'ReadWritePaths="-/var/lib/.greenboot-etcd"'
		has_not "greenboot-etcd-$unit.service" 'ReadWritePaths="-/var"'
	done
	has_not greenboot-etcd-defrag.service ReadWritePaths
	has_not greenboot-etcd-monitor.service Mounts
	# The generator writes only its output, and nothing that outlives the boot.
	rm -rf "$OUT_DIR"
	assert_eq "written elsewhere" "$(cd "$ROOT" && find . | sort)" "$before"
}

as_configured() {
	root_with_units
	touch_unit k3s.service
	site '[etcd]' service=k3s.service data-dir=/data/k3s/server member-dir=db/etcd \
		'[backup]' 'directory=/mnt/usb stick/backups'
	generate
	assert_eq "generated" "$GENERATED" "${ALL/etcd.service /} k3s.service"
	has k3s.service "Requires=greenboot-etcd-prerun.service"
	has greenboot-etcd-finalize.service "Before=k3s.service"
	has greenboot-etcd-prerun.service 'RequiresMountsFor="/data/k3s/server"'
	# The sandbox has whole directories below "/": within each, everything can be renamed.
	has greenboot-etcd-prerun.service 'ReadWritePaths="-/data"'
	has greenboot-etcd-prerun.service 'ReadWritePaths="-/mnt"'
	has greenboot-etcd-prerun.service 'Wants=mnt-usb\x20stick.mount'
	has greenboot-etcd-prerun.service 'After=mnt-usb\x20stick.mount'
	has_not greenboot-etcd-prerun.service 'Requires='
}

# MicroShift's etcd runs in a scope, which systemd makes while the system runs.
a_scope() {
	root_with_units
	touch_unit microshift.service
	site '[etcd]' service=microshift.service '[restore]' trial-limit=2d
	generate
	assert_eq "generated" "$GENERATED" \
		"$(sed 's/ greenboot-etcd-used/ greenboot-etcd-start.target&/; s/^etcd.service //' <<<"$ALL") \
microshift-etcd.scope microshift.service"
	has microshift-etcd.scope "After=greenboot-etcd-prerun.service greenboot-etcd-finalize.service"
	has microshift.service "Requires=greenboot-etcd-start.target"
	has microshift.service "After=greenboot-etcd-prerun.service"
	has greenboot-etcd-start.target "PartOf=microshift.service"
	has greenboot-etcd-used.timer "OnActiveSec=172800s"
}

# Without a configuration, the installed systems count, with the settings of the examples. More than one gives a
# message.
detected() {
	root_with_units
	rm "$ROOT/$UNITS/etcd.service"
	nothing
	touch_unit microshift.service
	generate
	assert_eq "stderr" "$ERR" ""
	has microshift.service "Requires=greenboot-etcd-start.target"
	has_not microshift.service defrag
	has greenboot-etcd-prerun.service 'RequiresMountsFor="/var/lib/microshift"'
	printf '[Service]\nExecStart=/usr/bin/k3s server --cluster-init\n' >"$ROOT/$UNITS/k3s.service"
	nothing
	assert_match "stderr" "$ERR" "<4>*MicroShift and k3s are here*"
	ln -s /dev/null "$ROOT/etc/systemd/system/microshift.service"
	generate
	has k3s.service "Requires=greenboot-etcd-prerun.service"
	has greenboot-etcd-prerun.service 'RequiresMountsFor="/var/lib/rancher/k3s/server"'
	site '[etcd]' service=
	nothing
}

monitored() {
	root_with_units
	site '[health]' monitor=90s '[metrics]' textfile=/srv/node/etcd.prom
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
	has greenboot-etcd-monitor.timer "OnActiveSec=90s"
	has greenboot-etcd-monitor.timer "OnUnitActiveSec=90s"
	has greenboot-etcd-monitor.service 'ReadWritePaths="-/srv/node"'
	has_not greenboot-etcd-prerun.service 'srv'
	site '[health]' monitor=0
	generate
	has_not etcd.service monitor
	case $GENERATED in
	*monitor*) fail "generated: $GENERATED" ;;
	esac
}

defragmented() {
	local unit

	root_with_units
	touch_unit microshift.service
	generate
	for unit in defrag.service defrag.timer; do
		has "greenboot-etcd-$unit" "BindsTo=etcd.service"
		has "greenboot-etcd-$unit" "After=etcd.service"
	done
	has greenboot-etcd-defrag.timer "OnActiveSec=0s"
	has greenboot-etcd-defrag.timer "OnUnitActiveSec=300s"
	has_not greenboot-etcd-defrag.service Mounts
	site '[defrag]' at-start=no interval=1h
	generate
	has greenboot-etcd-defrag.timer "OnActiveSec=3600s"
	site '[defrag]' enabled=no
	generate
	has_not etcd.service defrag
	case $GENERATED in
	*defrag*) fail "generated: $GENERATED" ;;
	esac
}

scheduled() {
	local unit

	root_with_units
	site '[backup]' 'schedule=Mon..Fri 03:30' directory=/mnt/backups
	generate
	for unit in backup.service backup.timer; do
		has "greenboot-etcd-$unit" "BindsTo=etcd.service"
		has "greenboot-etcd-$unit" "After=etcd.service"
	done
	# This value replaces the one that the unit names.
	assert_eq "the schedule" "$(grep OnCalendar "$(dropin greenboot-etcd-backup.timer)" | paste -sd' ')" \
		"OnCalendar= OnCalendar=Mon..Fri 03:30"
	has greenboot-etcd-backup.service 'ReadWritePaths="-/mnt"'
	has etcd.service "Wants=greenboot-etcd-finalize.service greenboot-etcd-preflight.path \
greenboot-etcd-renew.timer greenboot-etcd-scrub.timer greenboot-etcd-used.timer greenboot-etcd-monitor.timer greenboot-etcd-defrag.timer greenboot-etcd-backup.timer greenboot-etcd-rejoin.timer"
	# A value with a line break, which would add a line to the unit, gives a message and no timer.
	site '[backup]' 'schedule=100%i'
	generate
	assert_match "stderr" "$ERR" "<4>greenboot-etcd-generator: *greenboot-etcd.conf:2: *schedule*calendar event*"
	assert_eq "generated" "$GENERATED" "$ALL"
	has_not etcd.service backup
}

requests() {
	root_with_units
	# shellcheck disable=SC2016 # as it stands there
	site '[store]' 'directory=/srv/the $hare 100%' requests=watch
	generate
	# shellcheck disable=SC2016 # as systemd is to read it
	has greenboot-etcd-requests.service 'ExecCondition=/usr/bin/test -d "/srv/the $$hare 100%%/requests"'
	has greenboot-etcd-requests.service 'ReadWritePaths="-/srv"'
	has greenboot-etcd-requests.service 'Wants=srv-the\x20\x24hare\x20100\x25.mount'
	# The path unit also works while etcd is down: a restore may be the request.
	has_not greenboot-etcd-requests.service BindsTo
	has greenboot-etcd-requests.path "PathChanged="
	# shellcheck disable=SC2016
	has greenboot-etcd-requests.path 'PathChanged=/srv/the $hare 100%%/requests'
	grep -q ' greenboot-etcd-requests.path greenboot-etcd-requests.timer ' "$(dropin etcd.service)" ||
		fail "not wanted"
	# On a network share, systemd itself would wait for the server.
	site '[store]' directory=/srv/share
	generate
	has greenboot-etcd-requests.service 'ExecCondition=/usr/bin/test -d "/srv/share/requests"'
	assert_missing "$(dropin greenboot-etcd-requests.path)"
	has_not etcd.service greenboot-etcd-requests.path
	grep -q " greenboot-etcd-requests.timer " "$(dropin etcd.service)" || fail "not wanted"
	site '[store]' directory=/srv/store requests=no
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
	has_not etcd.service requests
}

# wants NAME..., wants_not NAME...: checks the units beyond those that etcd's service always wants.
wants() {
	local unit
	for unit in "$@"; do
		grep -qE "^Wants=.* greenboot-etcd-$unit( |\$)" "$(dropin etcd.service)" ||
			fail "$unit is not wanted"
	done
}
wants_not() {
	local unit
	for unit in "$@"; do has_not etcd.service "greenboot-etcd-$unit"; done
}
# accepted UNIT...: expects that systemd accepts the unit files of the tree with the generated ones.
accepted() {
	local found unit top=$ROOT/accepted

	command -v systemd-analyze >/dev/null || return 0
	rm -rf "$top"
	mkdir -p "$top/usr/bin" "$top/usr/libexec/greenboot-etcd" "$top/$UNITS" "$top/etc/systemd/system"
	# The base of the check: the targets that all units refer to, and programs that can be started.
	cp -r /usr/lib/systemd/system/. "$top/$UNITS/"
	for unit in "$TOP"/hooks/{,*/}*.{service,timer,path,target}; do
		[[ ! -e $unit ]] || cp "$unit" "$top/$UNITS/greenboot-etcd-${unit##*/}"
	done
	printf '[Service]\nExecStart=/usr/bin/greenboot-etcd\n' >"$top/$UNITS/etcd.service"
	cp "$BUILD/greenboot-etcd" "$top/usr/bin/greenboot-etcd"
	cp -r "$OUT_DIR/normal/." "$top/etc/systemd/system/"
	for unit in "$@"; do
		found=$(systemd-analyze verify --root="$top" --man=no --recursive-errors=no \
			"$top/$UNITS/$unit" 2>&1 | grep -F "${unit%.*}") || true
		assert_eq "what systemd says of $unit" "$found" ""
	done
}
one_at_a_time() {
	root_with_units
	site '[cluster]' update-lock=yes
	generate
	assert_eq "generated" "$GENERATED" "$(tr ' ' '\n' <<<"$ALL greenboot-etcd-lock.service" | sort | paste -sd' ')"
	wants lock.path lock.timer
	has greenboot-etcd-lock.service IPAddressAllow=any
	wants rejoin.timer
	has greenboot-etcd-rejoin.service IPAddressAllow=any
	has greenboot-etcd-rejoin.service 'ReadWritePaths="-/var"'
	site '[cluster]' rejoin=no
	generate
	assert_eq "generated" "$GENERATED" "${ALL/greenboot-etcd-rejoin.service /}"
	wants_not rejoin.timer
	site '[cluster]' lock-time=1h
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
	wants_not lock.path lock.timer
}

OFFSITE="greenboot-etcd-prove.service greenboot-etcd-prove.timer greenboot-etcd-push.service \
greenboot-etcd-push.timer greenboot-etcd-send.service"

# Snapshots for a directory: pushed by a timer, sent, read back.
pushed() {
	local unit

	root_with_units
	site '[etcd]' endpoint=https://10.1.2.3:2379 '[store]' directory=/srv/store requests=no \
		'schedule=Mon..Fri *:0/30' 'prove=Sat *-*-1..7 03:00'
	generate
	assert_eq "stderr" "$ERR" ""
	assert_eq "generated" "$GENERATED" "$(tr ' ' '\n' <<<"$ALL $OFFSITE greenboot-etcd-renew.service" | sort |
		paste -sd' ')"
	wants push.timer send.service prove.timer renew.timer
	has greenboot-etcd-renew.service IPAddressAllow=10.1.2.3
	wants_not push.service prove.service
	for unit in push.service push.timer; do
		has "greenboot-etcd-$unit" "BindsTo=etcd.service"
		has "greenboot-etcd-$unit" "After=etcd.service"
	done
	# These also work while etcd is down.
	for unit in send.service prove.service prove.timer; do
		has_not "greenboot-etcd-$unit" etcd.service
	done
	assert_eq "the schedule" "$(grep OnCalendar "$(dropin greenboot-etcd-push.timer)" | paste -sd' ')" \
		"OnCalendar= OnCalendar=Mon..Fri *:0/30"
	assert_eq "the proof" "$(grep OnCalendar "$(dropin greenboot-etcd-prove.timer)" | paste -sd' ')" \
		"OnCalendar= OnCalendar=Sat *-*-1..7 03:00"
	for unit in push send prove; do
		has "greenboot-etcd-$unit.service" "Wants=srv-store.mount"
		has "greenboot-etcd-$unit.service" 'ReadWritePaths="-/srv"'
	done
	# etcd is elsewhere; the store is not.
	has greenboot-etcd-push.service IPAddressAllow=10.1.2.3
	has_not greenboot-etcd-send.service IPAddress
	has_not greenboot-etcd-prove.service IPAddress
	has greenboot-etcd-prove.service "ExecStart=/usr/bin/greenboot-etcd --quiet store prune"
	# shellcheck disable=SC2086 # a list
	accepted etcd.service $OFFSITE
	# By hand only: no push is queued, and no snapshot is read back automatically.
	site '[store]' directory=/srv/store requests=no
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
	wants_not push send prove
	# A schedule without a store.
	site '[store]' schedule=daily
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
	wants_not push send prove
}

# Symlinks lead directories elsewhere, to a disk that is not mounted yet, and into a home. The sandbox of a unit names
# their targets.
symlinks() {
	local unit before

	root_with_units
	touch_unit k3s.service
	site '[etcd]' service=k3s.service data-dir=/var/lib/rancher/k3s/server/db/etcd cacert=/etc/pki/ca.crt
	generate
	before=$(cat "$(dropin greenboot-etcd-prerun.service)")
	mkdir -p "$ROOT/var/lib" "$ROOT/etc/pki"
	ln -s ../../mnt/ssd "$ROOT/var/lib/rancher"
	ln -s /run/user/0/ca.crt "$ROOT/etc/pki/ca.crt"
	generate
	assert_eq "generated" "$GENERATED" "$(sed 's/ greenboot-etcd-scrub/ greenboot-etcd-renew.service&/; s/^etcd.service //' <<<"$ALL") k3s.service"
	assert_eq "prerun" "$(cat "$(dropin greenboot-etcd-prerun.service)")" "${before/\[Service]/"RequiresMountsFor=\"/mnt/ssd/k3s/server/db/etcd\"
[Service]"}
ReadWritePaths=\"-/mnt\""
	for unit in finalize green preflight used; do
		has "greenboot-etcd-$unit.service" 'ReadWritePaths="-/mnt"'
	done
	for unit in scrub monitor; do
		has "greenboot-etcd-$unit.service" 'ReadWritePaths="-/mnt/ssd/.greenboot-etcd"'
		has_not "greenboot-etcd-$unit.service" 'ReadWritePaths="-/mnt"'
	done
	for unit in monitor green defrag; do
		has "greenboot-etcd-$unit.service" ProtectHome=no
	done
	has_not k3s.service mnt
	# A symlink that leads to itself, and one out of the root.
	ln -sfn rancher "$ROOT/var/lib/rancher"
	generate
	assert_eq "a loop" "$(cat "$(dropin greenboot-etcd-prerun.service)")" "$before"
	ln -sfn ../../../../../../data "$ROOT/var/lib/rancher"
	generate
	has greenboot-etcd-prerun.service 'ReadWritePaths="-/data"'
}

# Certificates, a socket and etcd's program lie in places that the sandbox lacks. podman makes the etcd of pods.
out_of_sight() {
	local unit

	root_with_units
	rm "$ROOT/$UNITS/etcd.service"
	site '[etcd]' cert=/run/user/0/client.crt key=/run/user/0/client.key cacert=/run/user/0/ca.crt \
		endpoint=unix:///tmp/etcd.sock binary=/var/home/me/etcd
	generate
	assert_eq "generated without a service" "$GENERATED" ""
	mkdir -p "$ROOT/etc/containers/systemd"
	: >"$ROOT/etc/containers/systemd/etcd.kube"
	generate
	for unit in monitor green defrag; do
		has "greenboot-etcd-$unit.service" ProtectHome=no
		has "greenboot-etcd-$unit.service" PrivateTmp=no
	done
	has greenboot-etcd-prerun.service ProtectHome=no
}

# A bucket: a push by hand may leave one in the queue.
to_a_bucket() {
	local unit

	root_with_units
	site '[store]' url=https://s3.example:9000/bucket/prefix access-key-file=/var/home/me/access-key
	generate
	assert_eq "generated" "$GENERATED" "$(tr ' ' '\n' <<<"$ALL $OFFSITE" | grep -v push | sort | paste -sd' ')"
	wants send.service prove.timer
	wants_not push requests
	for unit in send prove; do
		has "greenboot-etcd-$unit.service" IPAddressAllow=any
		has "greenboot-etcd-$unit.service" ProtectHome=no
		has_not "greenboot-etcd-$unit.service" ReadWritePaths
		has_not "greenboot-etcd-$unit.service" ExecStart
	done
	has greenboot-etcd-prove.timer OnCalendar=weekly
	accepted etcd.service greenboot-etcd-send.service greenboot-etcd-prove.service \
		greenboot-etcd-prove.timer
	site '[store]' url=https://s3.example/bucket schedule=hourly
	generate
	assert_eq "generated" "$GENERATED" "$(tr ' ' '\n' <<<"$ALL $OFFSITE" | sort | paste -sd' ')"
	wants push.timer send.service prove.timer
	has greenboot-etcd-push.timer OnCalendar=hourly
	has greenboot-etcd-push.service BindsTo=etcd.service
	has greenboot-etcd-push.service IPAddressAllow=any
	has greenboot-etcd-prove.service "ExecStart=/usr/bin/greenboot-etcd --quiet store prune"
	# shellcheck disable=SC2086 # a list
	accepted etcd.service $OFFSITE
	# No snapshot is read back.
	site '[store]' url=https://s3.example/bucket schedule=hourly prove=
	generate
	wants push.timer send.service
	wants_not prove
	assert_missing "$(dropin greenboot-etcd-prove.service)"
	assert_missing "$(dropin greenboot-etcd-prove.timer)"
	# A schedule or an address alone, and both stores at once, are wrong: a message says so, and etcd is still
	# protected.
	site '[store]' url=http://s3.example/bucket schedule=hourly
	generate
	assert_match "stderr" "$ERR" "<4>greenboot-etcd-generator: *greenboot-etcd.conf:2: *url*https://HOST/BUCKET*"
	assert_eq "generated" "$GENERATED" "$ALL"
	site '[store]' url=https://s3.example/bucket 'prove=100%i'
	generate
	assert_match "stderr" "$ERR" "<4>greenboot-etcd-generator: *greenboot-etcd.conf:3: *prove*calendar event*"
	wants send.service
	site '[store]' url=https://s3.example/bucket directory=/srv/store
	generate
	assert_match "stderr" "$ERR" "<4>greenboot-etcd-generator: *url*directory*both set*"
	has etcd.service "Requires=greenboot-etcd-prerun.service"
}

switched_off() {
	root_with_units
	site '[etcd]' service=
	nothing
}

no_such_service() {
	root_with_units
	site '[etcd]' service=microshift.service
	nothing
	assert_eq "stderr" "$ERR" ""
	# Also an image that is made later from another one.
	mkdir -p "$ROOT/etc/containers/systemd"
	echo "[Container]" >"$ROOT/etc/containers/systemd/microshift.container"
	generate
	has microshift.service "After=greenboot-etcd-prerun.service"
}

an_instance() {
	root_with_units
	site '[etcd]' service=etcd@one.service
	nothing
	touch_unit etcd@.service
	generate
	has etcd@one.service "Requires=greenboot-etcd-prerun.service"
}

masked() {
	root_with_units
	ln -s /dev/null "$ROOT/etc/systemd/system/greenboot-etcd-prerun.service"
	nothing
	rm "$ROOT/etc/systemd/system/greenboot-etcd-prerun.service"
	ln -s /dev/null "$ROOT/run/systemd/system/greenboot-etcd-prerun.service"
	nothing
	rm "$ROOT/run/systemd/system/greenboot-etcd-prerun.service"
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
	for word in greenboot-etcd-prerun.service greenboot-etcd-prerun; do
		echo "root=/dev/vda2 systemd.mask=$word rw" >"$ROOT/proc/cmdline"
		nothing
	done
	# Only in the initramfs.
	echo "root=/dev/vda2 rd.systemd.mask=greenboot-etcd-prerun.service rw" >"$ROOT/proc/cmdline"
	generate
	assert_eq "generated" "$GENERATED" "$ALL"
}

# The package is gone except its generator, or systemd has not loaded its units yet.
without_the_unit() {
	root_with_units
	rm "$ROOT/$UNITS/greenboot-etcd-prerun.service"
	nothing
}

# A typo does not leave etcd unprotected: the rest of the configuration counts.
one_faulty_key() {
	root_with_units
	touch_unit k3s.service
	site '[etcd]' service=k3s.service '[health]' timeout=soon
	generate
	assert_match "stderr" "$ERR" "<4>greenboot-etcd-generator: *timeout*rest of the configuration*"
	has k3s.service "Requires=greenboot-etcd-prerun.service"
}

# If a file cannot be parsed, the configuration of the image counts without it.
one_faulty_file() {
	root_with_units
	touch_unit k3s.service
	mkdir -p "$ROOT/usr/lib/greenboot-etcd"
	printf '[etcd]\nservice=k3s.service\n' >"$ROOT/usr/lib/greenboot-etcd/greenboot-etcd.conf"
	site '[etcd' service=etcd.service
	generate
	assert_match "stderr" "$ERR" "<4>*greenboot-etcd.conf*rest of the configuration*"
	has k3s.service "Requires=greenboot-etcd-prerun.service"
	# An unreadable file.
	rm "$ROOT/etc/greenboot-etcd/greenboot-etcd.conf"
	mkdir "$ROOT/etc/greenboot-etcd/greenboot-etcd.conf"
	generate
	assert_match "stderr" "$ERR" "<4>*greenboot-etcd.conf*"
	has k3s.service "Requires=greenboot-etcd-prerun.service"
}

# The programs recorded the last configuration that worked under this deployment. The generator uses it, also while
# /var is not mounted if /var is the stateroot's.
the_last_that_worked() {
	device xfs
	mkdir -p "$ROOT/$UNITS"
	touch_unit greenboot-etcd-prerun.service
	touch_unit etcd.service
	touch_unit other.service
	site '[etcd]' service=other.service data-dir=/var/lib/other
	up A
	echo '[etcd' >"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf"
	generate
	assert_match "stderr" "$ERR" "<4>*last configuration that worked*"
	has other.service "Requires=greenboot-etcd-prerun.service"
	has greenboot-etcd-prerun.service 'RequiresMountsFor="/var/lib/other"'
	mkdir -p "$ROOT/ostree/deploy/$STATEROOT/var/lib" "$ROOT/sysroot"
	mv "$ROOT/var/lib/greenboot-etcd" "$ROOT/ostree/deploy/$STATEROOT/var/lib/"
	generate
	has etcd.service "Requires=greenboot-etcd-prerun.service"
	mount --bind "$ROOT" "$ROOT/sysroot"
	generate
	has other.service "Requires=greenboot-etcd-prerun.service"
}

wrong_use() {
	root_with_units
	assert_exit 2 "$(program generator)" --root="$ROOT"
	assert_match "stderr" "$ERR" "*output directory*"
	assert_exit 2 "$(program generator)" --root="$ROOT" --nonsense "$ROOT/generated"
	# The path is not a directory: the generator reports it and leaves nothing half-written.
	touch "$ROOT/generated"
	assert_exit 1 "$(program generator)" --root="$ROOT" "$ROOT/generated"
	assert_match "stderr" "$ERR" "*$ROOT/generated*"
	assert_eq "lines" "$(wc -l <"$GBE_MEM/err")" 1
	# Without a command line, no mask is set, and the generator does its work.
	rm "$ROOT/proc/cmdline"
	generate_again
}
generate_again() { rm "$ROOT/generated" && generate && assert_eq "generated" "$GENERATED" "$ALL"; }

suite_begin "$@"
run_case default by_default
run_case configured as_configured
run_case scope a_scope
run_case detected detected
run_case monitored monitored
run_case defragmented defragmented
run_case scheduled scheduled
run_case requests requests
run_case one-at-a-time one_at_a_time
run_case pushed pushed
run_case bucket to_a_bucket
run_case switched-off switched_off
run_case no-such-service no_such_service
run_case instance an_instance
run_case masked masked
run_case without-the-unit without_the_unit
run_case one-faulty-key one_faulty_key
run_case one-faulty-file one_faulty_file
run_case last-that-worked the_last_that_worked
run_case wrong-use wrong_use
run_case out-of-sight out_of_sight
run_case symlinks symlinks
suite_end
