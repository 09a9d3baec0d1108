#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# diagnose: the content of the archive, and above all what must not be in it. Each secret in this test contains the
# word PLANTED.

# shellcheck disable=SC2317,SC2119 # cases are called by name; arguments that are optional
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

PLANTED=N0-B0DY-5-BUS1NE55

# unpacked ARCHIVE: unpacks it into PARTS. Expects no planted word, and JSON in each part.
unpacked() {
	local part

	PARTS=$GBE_MEM/parts
	rm -rf "$PARTS"
	mkdir "$PARTS"
	tar -C "$PARTS" --strip-components=1 -xzf "$1"
	for part in "$PARTS"/*.json; do
		jq -e . "$part" >/dev/null || [[ $(<"$part") == null ]] || fail "${part##*/} is no JSON"
	done
	! gunzip -c "$1" | grep -a -o ".\{0,80\}$PLANTED" >&2 || fail "something planted is in the archive"
	assert_eq "mode" "$(stat -c %a.%u "$1")" 600.0
	(($(stat -c %s "$1") < 1 << 20)) || fail "$(stat -c %s "$1") bytes"
}
part() { jq -r "$1" "$PARTS/$2.json"; }
has_parts() {
	local name
	for name; do
		assert_exists "$PARTS/$name.json"
		assert_ne "$name" "$(tr -d ' \n' <"$PARTS/$name.json")" null
	done
}
PARTS_OF_A_DEVICE="config health status explain list manifests unreadable ledger owner files
	filesystems units journal versions preflight"

plant() {
	mkdir -p "$ROOT/etc/etcd"
	put "key-$PLANTED" "value-$PLANTED"
	openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj "/CN=x" -keyout "$ROOT/etc/etcd/client.key" \
		-out "$ROOT/etc/etcd/client.crt" 2>/dev/null
	KEY_LINE=$(sed -n 3p "$ROOT/etc/etcd/client.key")
	echo "ETCD_ROOT_PASSWORD=$PLANTED" >"$ROOT/etc/etcd/etcd.env"
	config run args="--auth-token=simple --root-password=$PLANTED" credentials="ca:/run/$PLANTED" \
		env-file=/etc/etcd/etcd.env
	config etcd name="$PLANTED" key=/etc/etcd/client.key cert=/etc/etcd/client.crt \
		cacert=/etc/etcd/client.crt "endpoint=https://root:$PLANTED@127.0.0.1:$ETCD_PORT"
	printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$PLANTED" "$PLANTED" \
		>"$ROOT/etc/greenboot-etcd/access-key"
	chmod 0600 "$ROOT/etc/greenboot-etcd/access-key"
	config store url=https://127.0.0.1:1/bucket "proxy=http://me:$PLANTED@127.0.0.1:1" \
		access-key-file=/etc/greenboot-etcd/access-key
	# A queued snapshot is larger than the whole archive may be.
	WAITING=2026-01-02T03:04:05Z-000001
	mkdir -p "$ROOT/var/lib/greenboot-etcd/queue/$WAITING"
	{ echo "$PLANTED" && head -c 3000000 /dev/urandom; } \
		>"$ROOT/var/lib/greenboot-etcd/queue/$WAITING/etcd.backup.gz"
	echo '{}' >"$ROOT/var/lib/greenboot-etcd/queue/$WAITING/_etcd_backup.meta"
	printf '# the old password was %s\n[etcd]\n; %s\npassword=%s\n' "$PLANTED" "$PLANTED" "$PLANTED" \
		>"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d/60-notes.conf"
}

planted() {
	a_green "$1"
	plant
	stop_etcd
	echo "$PLANTED" >"$DATA/notes"
	echo "$PLANTED" >"$DATA/member/token-of-$PLANTED"
	echo "$PLANTED" >"$DATA/member/snap/$PLANTED.snap"
	gbe backup mine -d "the password is $PLANTED"
	gbe mark bad mine --reason="token=$PLANTED, do not use"
	assert_exit 0 gbe diagnose --output=/var/archive.tar.gz
	unpacked "$ROOT/var/archive.tar.gz"
	! gunzip -c "$ROOT/var/archive.tar.gz" | grep -aqF "$KEY_LINE" || fail "a private key is in it"
	# shellcheck disable=SC2086 # words
	has_parts $PARTS_OF_A_DEVICE
	# The full file has the text that was redacted only there.
	assert_match "grade" "$(part '.[] | select(.name == "mine").grade_reason' manifests)" "token=(left out)*"
	assert_eq "description" "$(part '.[] | select(.name == "mine").description' list)" "(left out)"
	assert_eq "arguments" "$(part '.settings[] | select(.key == "args").value' config)" "(left out)"
	assert_eq "endpoint" "$(part '.settings[] | select(.key == "endpoint").value' config)" \
		"https://(left out)@127.0.0.1:$ETCD_PORT"
	assert_eq "name" "$(part '.settings[] | select(.key == "name" and .group == "etcd").value' config)" "(left out)"
	assert_eq "foreign files" "$(part '[.[] | select(.path == "(left out)")] | length' files)" 2
	assert_eq "etcd's files" "$(part '[.[].path | select(test("^wal/[0-9a-f-]+[.]wal$"))] | length' files)" 1
	assert_eq "env-file" "$(part '.settings[] | select(.key == "env-file").value' config)" /etc/etcd/etcd.env
	assert_eq "path of the key" "$(part '.settings[] | select(.key == "key" and .group == "etcd").value' config)" \
		/etc/etcd/client.key
	assert_eq "proxy" "$(part '.settings[] | select(.key == "proxy").value' config)" "http://(left out)@127.0.0.1:1"
	assert_eq "access key" "$(part '.settings[] | select(.key == "access-key-file").value' config)" \
		/etc/greenboot-etcd/access-key
	# The facts that a helper needs.
	assert_eq "waiting" "$(part '.offsite | .waiting, .waiting_newest' status | paste -sd' ')" "1 $WAITING"
	assert_eq "booted" "$(part .booted status)" "${DEPLOYMENT[A]}"
	assert_eq "rule" "$(part .rule explain)" "$(json .rule explain)"
	assert_eq "owner" "$(part .deployment.id owner)" "${DEPLOYMENT[A]}"
	assert_eq "files" "$(part '[.[].path | select(. == "snap/db")] | length' files)" 1
	assert_eq "file system" "$(part '."/var".type' filesystems)" "${1%%-*}"
	assert_some "ledger" "$(part length ledger)"
	assert_match "contents" "$(<"$PARTS/CONTENTS")" "*status.json*units.json*not below --root*"
}

# On a broken device, the archive is needed most.
little() {
	device xfs
	boot A
	assert_exit 0 gbe diagnose /var/nothing-yet.tar.gz
	unpacked "$ROOT/var/nothing-yet.tar.gz"
	assert_match "no data" "$(<"$PARTS/CONTENTS")" "*files.json*there is no data*"
	root_free

	root_new none
	mkdir -p "$ROOT/proc/sys/kernel/random"
	assert_exit 0 gbe diagnose /run/no-ostree.tar.gz
	unpacked "$ROOT/run/no-ostree.tar.gz"
	assert_match "no state" "$(<"$PARTS/CONTENTS")" "*files.json*there is no data*"
	root_free

	a_green xfs
	stop_etcd
	config health "timeout=password=$PLANTED"
	mkdir "$ROOT/var/lib/greenboot-etcd/backups/odd"
	echo "{" >"$ROOT/var/lib/greenboot-etcd/backups/odd/manifest.json"
	echo "$PLANTED" >>"$ROOT/var/lib/greenboot-etcd/ledger"
	cp "$ROOT/var/lib/greenboot-etcd/ledger" "$GBE_MEM/ledger"
	echo "$PLANTED" >"$DATA/.greenboot-etcd-owner"
	assert_exit 0 gbe diagnose /var/broken.tar.gz
	unpacked "$ROOT/var/broken.tar.gz"
	# shellcheck disable=SC2086 # words
	has_parts config status list ledger journal versions
	assert_match "configuration" "$(<"$PARTS/CONTENTS")" "*config.json*50-health-timeout.conf*"
	assert_match "ledger" "$(<"$PARTS/CONTENTS")" "*ledger.json*a record of it cannot be read*"
	assert_eq "unreadable" "$(part '.[0]' unreadable)" odd
	# diagnose has repaired nothing.
	cmp "$ROOT/var/lib/greenboot-etcd/ledger" "$GBE_MEM/ledger"
}

# The archive stays small with any content.
bounded() {
	local n entry

	a_green xfs
	stop_etcd
	gbe backup base
	for ((n = 0; n < 250; n++)); do
		entry=$ROOT/var/lib/greenboot-etcd/backups/base-$n
		mkdir "$entry" "$entry/data"
		jq --arg n "$n" '.name = "base-" + $n | .sequence += 1 + ($n | tonumber)' \
			"$ROOT/var/lib/greenboot-etcd/backups/base/manifest.json" >"$entry/manifest.json"
	done
	for ((n = 0; n < 400; n++)); do : >"$DATA/member/snap/more-$n"; done
	assert_exit 0 gbe --json diagnose /var/large.tar.gz
	fits=$(jq '[.parts[].size] | add' <<<"$OUT")
	((fits < 4 << 20)) || fail "$fits bytes unpacked"
	unpacked "$ROOT/var/large.tar.gz"
	assert_eq "manifests" "$(part length manifests)" 200
	assert_eq "files" "$(part length files)" 200
	assert_match "left out" "$(<"$PARTS/CONTENTS")" "*manifests.json*the first 200 of 25*"
}

# The allowed places for the archive.
output() {
	local point

	a_green xfs
	echo mine >"$ROOT/var/mine"
	ln -s mine "$ROOT/var/link"
	ln -s nowhere "$ROOT/var/dangling"
	assert_exit 1 gbe diagnose /var/mine
	assert_match "stderr" "$ERR" "*/var/mine is there already*"
	assert_exit 1 gbe diagnose --output=/var/link
	assert_exit 1 gbe diagnose --output=/var/dangling
	assert_eq "what was there" "$(<"$ROOT/var/mine")" mine
	assert_missing "$ROOT/var/nowhere"
	assert_exit 1 gbe diagnose /var
	assert_exit 1 gbe diagnose /not/there.tar.gz
	assert_exit 2 gbe diagnose relative.tar.gz
	assert_exit 2 gbe diagnose /var/a -o /var/b
	mkdir -p "$ROOT/var/tmp"
	assert_exit 0 gbe diagnose -q
	assert_match "stdout" "$OUT" "/var/tmp/greenboot-etcd-diagnosis-*.tar.gz"
	unpacked "$ROOT$OUT"
	disk_fill
	# XFS keeps some room that an unnamed file can use.
	if gbe diagnose /var/full.tar.gz 2>"$GBE_MEM/err"; then
		unpacked "$ROOT/var/full.tar.gz"
		rm "$ROOT/var/full.tar.gz"
	fi
	disk_free
	assert_eq "no leftovers" "$(find "$ROOT/var" -maxdepth 1 -name '*full*')" ""
	for point in write-created write-written; do
		assert_exit 137 env "GREENBOOT_ETCD_FAULT=$point=kill" "$BUILD_FAULTS/greenboot-etcd" \
			--root="$ROOT" diagnose /var/killed.tar.gz
		assert_eq "left at $point" "$(find "$ROOT/var" -maxdepth 1 -name '*killed*')" ""
	done
	gbe diagnose -o - >"$GBE_MEM/stdout.tar.gz"
	chmod 0600 "$GBE_MEM/stdout.tar.gz"
	unpacked "$GBE_MEM/stdout.tar.gz"
	assert_exit 2 gbe --json diagnose -
	# shellcheck disable=SC2016 # its own $0 and $1
	assert_exit 1 bash -c '"$0" --root="$1" diagnose - >/dev/full' "$(program greenboot-etcd)" "$ROOT"
}

# A running system has units and a journal. etcd's environment is left out.
running() {
	need_nspawn
	container_device
	deploy A
	mkdir -p "$GBE_MEM/elsewhere"
	populate A "systemctl --no-pager show etcd -p Environment
		etcdctl put k v-$PLANTED; greenboot-etcd mark good
		logger -t greenboot-etcd-other $PLANTED; logger -t etcd $PLANTED
		greenboot-etcd diagnose /mnt/archive.tar.gz || rm -f /mnt/archive.tar.gz"
	sed -i "/Type=notify/aEnvironment=SOMETHING=$PLANTED" \
		"$(deployment_dir A)/etc/systemd/system/etcd.service"
	run A --bind="$GBE_MEM/elsewhere:/mnt"
	in_order "SOMETHING=$PLANTED"
	assert_exists "$GBE_MEM/elsewhere/archive.tar.gz"
	unpacked "$GBE_MEM/elsewhere/archive.tar.gz"
	# shellcheck disable=SC2086 # words
	has_parts $PARTS_OF_A_DEVICE
	assert_eq "etcd" "$(part '."etcd.service".active' units)" active
	assert_eq "prerun" "$(part '."greenboot-etcd-prerun.service".result' units)" success
	assert_eq "verdict" "$(part '[.[] | select(.message_id == "be615c252c91448b985c9f452f3c72d8")] | length' journal)" 1
	assert_eq "action" "$(part '.[] | select(.message_id == "be615c252c91448b985c9f452f3c72d8")
		| .fields.GREENBOOT_ETCD_ACTION' journal)" green
	assert_some "systemd about prerun" "$(part '[.[] | select(.identifier == "systemd" and
		(.message | test("greenboot-etcd-prerun")))] | length' journal)"
	assert_eq "others" "$(part '[.[].identifier] | unique | map(select(test("^(systemd|greenboot-etcd-(prerun|cli|finalize))$") | not)) | length' journal)" 0
	assert_eq "in order" "$(part '[.[].time] | . == sort' journal)" true
	assert_eq "etcd's version" "$(part .etcd versions)" "$(etcdctl version | sed -n 's/etcdctl version: //p')"
}

# The distribution's sos runs with the plugin among its own.
sos() {
	local plugins=/usr/lib/python3/dist-packages/sos/report/plugins archive

	need_nspawn
	[[ -d $plugins ]] || skip_case "optional: sos is not installed (make deps-all)"
	container_device
	deploy A
	mkdir -p "$GBE_MEM/elsewhere/tmp"
	cp -a "$plugins" "$GBE_MEM/plugins"
	cp "$GBE_TOP/data/sos/greenboot_etcd.py" "$GBE_MEM/plugins/"
	populate A "etcdctl put k v-$PLANTED; greenboot-etcd mark good; cd /mnt
		sos report --batch -o greenboot_etcd --tmp-dir /mnt/tmp </dev/null >/mnt/log 2>&1"
	cp /etc/debian_version "$(deployment_dir A)/etc/"
	run A --bind="$GBE_MEM/elsewhere:/mnt" --bind-ro="$GBE_MEM/plugins:$plugins"
	cat "$GBE_MEM/elsewhere/log" >&2
	mkdir "$GBE_MEM/report"
	tar -C "$GBE_MEM/report" --strip-components=1 -xf "$GBE_MEM"/elsewhere/tmp/sosreport-*.tar.xz
	archive=$GBE_MEM/report/sos_commands/greenboot_etcd/diagnosis.tar.gz
	assert_exists "$archive"
	chmod 0600 "$archive"
	unpacked "$archive"
	# shellcheck disable=SC2086 # words
	has_parts $PARTS_OF_A_DEVICE
	! grep -rq "$PLANTED" "$GBE_MEM/report" || fail "something planted is in the report"
}

suite_begin "$@"
for kind in $(kinds "xfs ext4"); do
	run_case "planted@$kind" planted "$kind"
done
run_case little little
run_case bounded bounded
run_case output output
run_case running running
# sos itself takes two minutes on a slow machine.
[[ ${LEVEL:-ci} == ci ]] || run_case sos sos
suite_end
