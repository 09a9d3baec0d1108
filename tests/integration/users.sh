#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An etcd with users: every verb that asks etcd, with and without authentication, plain and over TLS.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

PASSWORD='pass word:of-root'
# Exit statuses, one line for each verb: for a client who is root or needs no user, and for a client whom etcd
# refuses. The verb follows.
VERBS="
0 0 health
0 0 status
0 0 preflight
0 0 endpoint status
0 0 member list
0 0 cluster status
0 5 snapshot save /var/saved.db --force
0 5 store push --store=/var/store
0 5 defrag
0 5 alarm clear
0 5 cluster lock
0 5 cluster unlock
0 5 member add http://127.0.0.1:9
0 5 member update default http://127.0.0.1:PEER
"

# root_ctl WORD...: runs etcdctl as etcd's user root.
root_ctl() { ETCDCTL_USER="root:$PASSWORD" ctl "$@" >/dev/null; }

# certificate NAME: makes a client's certificate with that common name, signed by the CA of etcd_over_tls.
certificate() {
	(
		cd "$ROOT/etc/pki"
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
		openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 9 -extfile ext -out "$1.crt"
	)
}

with_users() {
	device ext4
	etcd_over_tls "$ROOT/etc/pki"
	certificate root
	certificate reader
	power_on
	put k v
	printf '%s\n' "$PASSWORD" >"$ROOT/etc/password"
	chmod 0600 "$ROOT/etc/password"
	mkdir -p "$ROOT/var/store"
	ctl user add "root:$PASSWORD" >/dev/null
	ctl role add root >/dev/null 2>&1 || true
	ctl user grant-role root root >/dev/null
	ctl user add reader:secret >/dev/null
}

plain() {
	config etcd endpoint="http://127.0.0.1:$ETCD_PORT"
	for key in cacert cert key; do unconfig etcd "$key"; done
}
over_tls() { # NAME
	config etcd endpoint="$ETCD_TLS" cacert=/etc/pki/ca.crt cert="/etc/pki/$1.crt" key="/etc/pki/$1.key"
}
no_user() { unconfig etcd password-file && unconfig etcd user; }
as_user() { # NAME FILE
	config etcd user="$1" password-file="$2"
}

# every_verb allowed|refused: runs every verb of the table.
every_verb() {
	local allowed refused verb want backups

	backups=$(gbe --json list | jq length)
	while read -r allowed refused verb; do
		case $verb in
		"") continue ;;
		store*) built store || continue ;;
		cluster* | member*) built cluster || continue ;;
		esac
		want=$allowed
		[[ $1 == allowed ]] || want=$refused
		verb=${verb/PEER/$((ETCD_PORT + 1))}
		# shellcheck disable=SC2086 # words
		assert_exit "$want" gbe --json $verb
		if [[ $want == 5 ]]; then
			fits error
			assert_match "why $verb is refused" "$(of .error.message)" "*refused: etcd asks for a user*"
			assert_match "the way on of $verb" "$(of .error.hint)" "*user=*password-file=*"
		elif [[ $verb == "member add"* ]]; then
			root_ctl member remove "$(of '.id | ltrimstr("0x")')" 2>/dev/null || ctl member remove "$(of .id)" >/dev/null
		fi
		[[ $OUT$ERR != *"$PASSWORD"* ]] || fail "$verb tells the password"
	done <<<"$VERBS"
	[[ $1 == allowed ]] || assert_eq "backups of what was refused" "$(gbe --json list | jq length)" "$backups"
}

# says_user yes|no: expects that status and preflight say whether etcd asks for a user.
says_user() {
	local want=false
	[[ $1 == no ]] || want=true
	# status waits for etcd only a moment, and a busy machine takes longer.
	for _ in {1..60}; do
		[[ $(json '[.etcd.warnings[] | select(test("etcd asks for a user"))] | length > 0' status) != "$want" ]] || break
		nap 0.5
	done
	assert_json '[.etcd.warnings[] | select(test("etcd asks for a user"))] | length > 0' "$want" status
	assert_json '[.findings[] | select(.check == "user")] | length > 0' "$want" preflight
	assert_json '.healthy' true health
}

table() {
	with_users
	for client in plain "over_tls client"; do
		$client
		# etcd asks for no user, so the password is not needed.
		as_user root /etc/nothing
		every_verb allowed
		no_user
	done
	ctl auth enable >/dev/null
	for client in plain "over_tls client" "over_tls reader"; do
		$client
		every_verb refused
		says_user yes
		as_user root /etc/password
		every_verb allowed
		says_user no
		no_user
	done
	over_tls root
	every_verb allowed
	says_user no
}

# The message names the place of an unusable password.
passwords() {
	with_users
	ctl auth enable >/dev/null
	plain
	as_user reader /etc/password
	assert_exit 5 gbe snapshot save /var/saved.db
	assert_match "a wrong password" "$ERR" "*refused: etcd asks for a user, and does not accept reader (*); check user= and password-file=*"
	echo secret >"$ROOT/etc/reader" && chmod 0600 "$ROOT/etc/reader"
	as_user reader /etc/reader
	assert_exit 5 gbe snapshot save /var/saved.db
	assert_match "no rights" "$ERR" "*refused: etcd asks for a user with more rights than reader (*permission denied*"
	as_user root /etc/password
	chmod 0644 "$ROOT/etc/password"
	assert_exit 5 gbe snapshot save /var/saved.db
	assert_match "others can read it" "$ERR" "*/etc/password: it is not root's alone*chmod 0600*"
	chmod 0600 "$ROOT/etc/password"
	ln -s password "$ROOT/etc/link"
	as_user root /etc/link
	assert_exit 5 gbe snapshot save /var/saved.db
	: >"$ROOT/etc/reader"
	as_user root /etc/reader
	assert_exit 5 gbe snapshot save /var/saved.db
	assert_match "empty" "$ERR" "*/etc/reader: the first line is not a password*"
	unconfig etcd password-file
	assert_exit 5 gbe snapshot save /var/saved.db
	assert_match "no file" "$ERR" "*there is no systemd credential etcd-password*"
	# systemd passes it to a unit in this way.
	mkdir "$GBE_MEM/credentials"
	cp "$ROOT/etc/password" "$GBE_MEM/credentials/etcd-password"
	CREDENTIALS_DIRECTORY=$GBE_MEM/credentials assert_exit 0 gbe snapshot save /var/saved.db
	config etcd user=root:secret
	assert_exit 2 gbe snapshot save /var/other.db
	unconfig etcd user
	config etcd password-file=/etc/password
	assert_exit 2 gbe snapshot save /var/other.db
}

# The units' programs run. No file of theirs and no report has the password.
units() {
	with_users
	cp "$(command -v "$ETCDCTL")" "$ROOT/usr/bin/"
	assert_exit 0 hook health
	assert_exit 0 hook green
	# The database has something to defragment. The free size is known after the next commits.
	{ set +x; } 2>/dev/null
	put_many large 60 "$(printf '%014000d' 1)"
	set -x
	del large --prefix
	ctl compact --physical "$(revision)" >/dev/null
	for _ in 1 2 3; do put settle x && sleep 0.15; done
	ctl auth enable >/dev/null
	config etcd peer-urls="http://127.0.0.1:$((ETCD_PORT + 1))"
	config backup schedule=hourly
	config store directory=/var/store schedule=hourly
	config defrag min-size=0 max-fragmentation=0%
	assert_exit 1 hook backup --patience=0
	assert_match "a periodic snapshot" "$ERR" "*refused: etcd asks for a user*password-file=*"
	assert_exit 1 hook defrag
	assert_match "a defragmentation" "$ERR" "*refused: etcd asks for a user*password-file=*"
	as_user root /etc/password
	assert_exit 0 hook backup --patience=0
	assert_exit 0 hook defrag
	assert_exit 0 hook monitor
	assert_eq "a periodic backup" "$(gbe --json list | jq -r '[.[].origin] | join(" ")')" periodic
	assert_exit 0 gbe diagnose /var/diagnosis.tar.gz
	mkdir "$GBE_MEM/diagnosis"
	tar -xzf "$ROOT/var/diagnosis.tar.gz" -C "$GBE_MEM/diagnosis"
	! grep -rlaF "$PASSWORD" "$ROOT/var/lib/greenboot-etcd" "$ROOT/run" "$GBE_MEM/diagnosis" "$ROOT/.greenboot-etcd" ||
		fail "the password is in a file"
}

# rehearsal ETCD: expects that a working etcd of an update is not blamed for its users, and that all questions are
# asked with a user.
rehearsal() {
	a_green xfs
	put_many base 100
	mkdir -p "$ROOT/usr/bin"
	rm -f "$ROOT/usr/bin/etcd"
	cp "$(command -v etcd)" "$ROOT/usr/bin/etcd"
	ctl user add "root:$PASSWORD" >/dev/null
	ctl role add root >/dev/null 2>&1 || true
	ctl user grant-role root root >/dev/null
	ctl auth enable >/dev/null
	stage B
	mkdir -p "$(deployment_dir B)/usr/bin"
	rm -f "$(deployment_dir B)/usr/bin/etcd"
	cp "$1" "$(deployment_dir B)/usr/bin/etcd"
	config preflight on-failed-rehearsal=lock
	assert_exit 0 gbe --json rehearse
	fits rehearse
	assert_eq "result" "$(of .result)" passed
	assert_missing "$ROOT/run/ostree/staged-deployment-locked"
	printf '%s\n' "$PASSWORD" >"$ROOT/etc/password"
	chmod 0600 "$ROOT/etc/password"
	as_user root /etc/password
	assert_exit 0 gbe --json rehearse
	assert_eq "result" "$(of .result)" passed
	# A password that etcd rejects does not count against the update.
	echo wrong >"$ROOT/etc/password"
	assert_exit 0 gbe --json rehearse
	assert_eq "result" "$(of .result)" passed
}

suite_begin "$@"
run_case users-table table
run_case users-passwords passwords
run_case users-units units
run_case users-rehearsal rehearsal "$(command -v etcd)"
if [[ $ETCD_NEXT ]]; then
	run_case users-table-next with "$ETCD_NEXT" table
	run_case users-rehearsal-next rehearsal "$ETCD_NEXT"
fi
suite_end
