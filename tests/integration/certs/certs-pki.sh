#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Certificates that this program makes: certs init, issue, sign, renew and rotate-ca, checked by openssl, curl, a real
# etcd and a real systemd.

# shellcheck disable=SC2317,SC2119,SC2120,SC2016 # cases are called by name; arguments that are optional; expanded elsewhere
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../../lib/container.sh"

PKI=/var/lib/greenboot-etcd-pki
YEAR=$((365 * 86400))

# pki_device [KIND]: makes a device whose etcd has a user of its own.
pki_device() {
	device "${1:-xfs}"
	PLACE=$ROOT$PKI
	LIVE=$PLACE/live
	mkdir -p "$DATA"
	chown 7:8 "$DATA"
	chmod 0700 "$DATA"
}
made() { # [OPTION...]: and init has made its certificates there
	pki_device
	assert_exit 0 gbe certs init "$@"
}
faulty() { "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" "$@"; }
# verified FILE...: checks the files against the trusted authorities.
verified() { openssl verify -x509_strict -CAfile "$LIVE/ca.crt" "$@"; }
unverified() { ! verified "$@" || fail "still trusted: $*"; }
# Prints the kind of each entry, also if it is not a file.
content() { [[ ! -f $1 ]] || cksum <"$1"; }
serial() { openssl x509 -noout -serial -in "$1"; }
until_of() { date +%s -d "$(openssl x509 -noout -enddate -in "$1" | cut -d= -f2)"; }
san() { openssl x509 -noout -ext subjectAltName -in "$1" | sed -n '2s/^ *//p'; }
authorities() { openssl crl2pkcs7 -nocrl -certfile "$1" | openssl pkcs7 -print_certs -noout | grep -c subject; }
place_digest() { tree_digest "$PLACE"; }
# with_clock SECONDS COMMAND...: runs COMMAND on a device whose clock is that much ahead.
with_clock() {
	clock_set "$1"
	"${@:2}"
	clock_set 0
}

# whole [authority-key-name]: checks that live is complete, each key matches its certificate, all certificates verify,
# and nothing else is left.
whole() {
	local owner keys=$'0640 0 8 peer.key\n0640 0 8 server.key'

	assert_eq "in $PLACE" "$(ls -A "$PLACE")" live
	# A group that is root's: the user.
	owner=$(stat -c %u "$DATA")
	[[ $(stat -c %g "$DATA") == 8 ]] || keys="0600 $owner 0 peer.key"$'\n'"0600 $owner 0 server.key"
	assert_eq "files" "$(cd "$LIVE" && find . -printf '%04m %U %G %P\n' | grep -v '/other\.' | sort)" "$(sort <<-EOF2
		0755 0 0 
		0644 0 0 ca.crt
		0644 0 0 server.crt
		0644 0 0 peer.crt
		0644 0 0 client.crt
		0600 0 0 client.key
		$keys
		0644 0 0 etcd.env
		0600 0 0 record
		0700 0 0 authority
		0644 0 0 authority/ca.crt
		0600 0 0 authority/${1:-ca.key}
	EOF2
	)"
	assert_eq "keys" "$(gbe --json certs list | jq -r '[.certificates[] | select(.path | test("live/(server|peer|client)")) |
		select(.position == 1) | .key] | join(" ")')" "$PKI/live/client.key $PKI/live/peer.key $PKI/live/server.key"
	# One chain of intermediate certificates serves all leaves.
	openssl verify -CAfile "$LIVE/ca.crt" -untrusted "$LIVE/server.crt" -purpose sslclient "$LIVE"/{server,peer,client}.crt
	openssl verify -CAfile "$LIVE/ca.crt" -untrusted "$LIVE/server.crt" -purpose sslserver -verify_ip 127.0.0.1 \
		"$LIVE"/{server,peer}.crt
	! cat "$LIVE"/*.crt "$LIVE"/authority/*.crt "$LIVE/etcd.env" "$LIVE/record" | grep PRIVATE || fail "a key is in it"
}

init() {
	pki_device
	assert_exit 0 gbe --json certs list
	fits certs
	assert_eq "no owner" "$(of .authority)" null
	assert_exit 0 gbe --json certs init -n
	fits certs-made
	assert_eq "dry" "$(of '[.dry_run, .done, .healthy] | map(tostring) | join(" ")')" "true false null"
	assert_missing "$PLACE"
	config etcd endpoint=https://etcd.example:2379 "peer-urls=https://10.1.2.3:2380,https://[fd00::1]:2380"
	config certs "names=*.site.example 10.9.9.9"
	assert_exit 0 gbe --json certs init
	fits certs-made
	assert_eq "done" "$(of '[.done, .put_back, .restarted, .healthy] | map(tostring) | join(" ")')" "true false false null"
	assert_eq "certificates" "$(of '[.certificates[].path] | join(" ")')" "$PKI/live/server.crt $PKI/live/peer.crt $PKI/live/client.crt"
	whole
	verified "$LIVE"/{server,peer,client}.crt
	assert_eq names "$(san "$LIVE/server.crt")" "DNS:*.site.example, IP Address:10.1.2.3, IP Address:10.9.9.9, \
IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:etcd.example, IP Address:FD00:0:0:0:0:0:0:1, DNS:localhost"
	assert_eq "of the peer" "$(san "$LIVE/peer.crt")" "$(san "$LIVE/server.crt")"
	assert_eq "who the client is" "$(openssl x509 -noout -subject -in "$LIVE/client.crt")" "subject=CN = root"
	assert_exit 0 gbe --json certs list
	fits certs
	assert_eq "authority" "$(of '.authority | [.certificate, .sealed, .rotation, .other, .due] | map(tostring) | join(" ")')" \
		"$PKI/live/authority/ca.crt false none null null"
	assert_eq "until" "$(of .authority.not_after)" "$(until_of "$LIVE/authority/ca.crt")"
	assert_eq "problems" "$(of '[.certificates[], .keys[] | .problem // empty] | join(" ")')" ""
	assert_match "renewal" "$(($(of .authority.renew_at) - EPOCHSECONDS))" "210[0-9]*"
	assert_exit 0 gbe certs list
	assert_match text "$OUT" "*Authority: CN=etcd CA *, until *Renewal:*"
	# A second call changes nothing.
	BEFORE=$(place_digest)
	assert_exit 5 gbe --json certs init
	fits error
	assert_match why "$ERR" "*certs renew*rotate-ca*"
	assert_exit 2 gbe certs init --for=30y
	assert_exit 2 gbe certs rotate-ca --for=0
	assert_exit 2 gbe certs init --undo
	assert_eq "what lies there" "$(place_digest)" "$BEFORE"
	# Below a root, keys are not sealed.
	rm -rf "$PLACE"
	assert_exit 5 gbe certs init --seal
	assert_match why "$ERR" "*below --root no key is sealed*"
	assert_missing "$LIVE"
	assert_exit 1 gbe_as_user certs init
	assert_match why "$ERR" "*sudo*"
	assert_missing "$LIVE"
	# A name that cannot be a common name, and a socket.
	config etcd "name=$(printf 'ä%.0s' {1..70})" endpoint=unix:///run/etcd.sock
	assert_exit 0 gbe certs init --for=10d
	whole
	assert_match "until" "$(($(until_of "$LIVE/ca.crt") - EPOCHSECONDS))" "86[34]*"
	# No leaf is valid longer than its authority.
	assert_eq "no longer" "$(until_of "$LIVE/server.crt")" "$(until_of "$LIVE/ca.crt")"
}

# renewed WHY COMMAND...: expects that the call makes all three again and gives the reason.
renewed() {
	local name why=$1 ca
	local -A old

	for name in server peer client; do old[$name]=$(content "$LIVE/$name.crt"); done
	ca=$(<"$LIVE/ca.crt")
	shift
	assert_exit 0 "$@"
	fits certs-made
	assert_match reason "$(of .reason)" "$why"
	assert_eq "done" "$(of .done)" true
	for name in server peer client; do assert_ne "$name" "$(content "$LIVE/$name.crt")" "${old[$name]}"; done
	assert_eq "the authority" "$(<"$LIVE/ca.crt")" "$ca"
	[[ $CLOCK != 0 || ${LIGHT-} ]] || whole
}
nothing_due() {
	local before
	before=$(place_digest)
	assert_exit 0 gbe --json certs renew
	fits certs-made
	assert_eq "done" "$(of '[.done, .reason] | map(tostring) | join(" ")')" "false null"
	assert_eq "what lies there" "$(place_digest)" "$before"
}

renew() {
	pki_device
	assert_exit 1 gbe certs renew
	assert_match why "$ERR" "*certs init*"
	assert_exit 0 gbe certs init
	nothing_due
	assert_exit 0 gbe certs renew
	assert_match text "$OUT" "*nothing is due*"
	BEFORE=$(place_digest)
	assert_exit 0 gbe --json certs renew -n --force
	fits certs-made
	assert_eq "dry" "$(of '[.dry_run, .done, .reason] | map(tostring) | join(" ")')" "true false asked for"
	assert_eq "what lies there" "$(place_digest)" "$BEFORE"
	renewed "asked for" gbe --json certs renew --force
	# After two thirds of its life, and after all of it.
	with_clock $((240 * 86400)) nothing_due
	with_clock $((245 * 86400)) renewed "server.crt: two thirds*" gbe --json certs renew
	# The certificates were made while the clock was ahead.
	renewed "server.crt: it is valid only later*" gbe --json certs renew
	with_clock $((366 * 86400)) renewed "server.crt: it has expired" gbe --json certs renew
	config certs validity=5h
	assert_exit 2 gbe certs renew --force
	config certs validity=6h
	renewed "*later*" gbe --json certs renew
	nothing_due
	with_clock 13300 renewed "server.crt: two thirds*" gbe --json certs renew
	# They are valid for six hours from then on, and one hour before.
	assert_match "until" "$(($(until_of "$LIVE/client.crt") - EPOCHSECONDS))" "34[89]??"
	unconfig certs validity
	config certs "names=new.example"
	renewed "*not for new.example" gbe --json certs renew
	assert_match "names" "$(san "$LIVE/peer.crt")" "*DNS:new.example*"
	nothing_due
	# A removed name is not a reason.
	unconfig certs names
	nothing_due
	# etcd's group is another one.
	chgrp 0 "$DATA"
	renewed "asked for" gbe --json certs renew --force
	rm -rf "$DATA"
	mkdir "$DATA"
	renewed "asked for" gbe --json certs renew --force
}

# If one leaf has any defect, all are made again. The directory is complete afterwards.
leaves() {
	local name
	made
	mkdir "$GBE_MEM/foreign"
	certificates "$GBE_MEM/foreign"
	for name in server peer client; do
		rm "$LIVE/$name.crt"
		renewed "$name.crt: it is missing or damaged" gbe --json certs renew
		rm "$LIVE/$name.key"
		renewed "$name.crt: its key is missing or damaged" gbe --json certs renew
	done
	for damage in "truncate -s 0 X" "truncate -s 200 X" "truncate -s 2M X" "dd if=/dev/urandom of=X bs=300 count=1" \
		"ln -sf /etc/passwd X" "rm X; mkdir X" "rm X; mkfifo X" "cp server.key X"; do
		(cd "$LIVE" && eval "${damage//X/peer.crt}")
		LIGHT=yes renewed "peer.crt: it is missing or damaged" gbe --json certs renew
		(cd "$LIVE" && eval "${damage//X/peer.key}")
		renewed "peer.crt: its key *" gbe --json certs renew
	done
	cp "$LIVE/peer.key" "$LIVE/server.key"
	renewed "server.crt: its key does not match" gbe --json certs renew
	openssl pkey -aes128 -passout pass:x -in "$LIVE/server.key" -out "$LIVE/passphrase"
	mv "$LIVE/passphrase" "$LIVE/server.key"
	renewed "server.crt: its key is missing or damaged" gbe --json certs renew
	cp "$GBE_MEM/foreign"/server.{crt,key} "$LIVE/"
	renewed "server.crt: another authority has signed it" gbe --json certs renew
	cp "$LIVE"/peer.crt "$GBE_MEM/peer.crt"
	flip "$LIVE/client.crt" -60
	renewed "client.crt: *" gbe --json certs renew
	verified "$GBE_MEM/peer.crt"
	for name in ca.crt etcd.env; do
		rm "$LIVE/$name"
		assert_exit 0 gbe certs renew --force
		whole
	done
}

# lists: expects that list succeeds. Its only complaint may be an unreadable entry.
lists() {
	local rc=0
	OUT=$(gbe --json certs list) || rc=$?
	[[ $rc == [07] ]] || fail "certs list: status $rc"
	fits certs
}
# refused STATUS WHY: expects that every verb that changes something refuses, and that all files are unchanged.
refused() {
	local before verb
	before=$(place_digest)
	for verb in "renew --force" rotate-ca init "issue x --client --out=/var" "rotate-ca --undo"; do
		# shellcheck disable=SC2086 # words
		assert_exit "$1" timeout 20 "$BUILD/greenboot-etcd" --root="$ROOT" certs $verb
		assert_match "why not $verb" "$ERR" "$2"
	done
	lists
	assert_eq "what lies there" "$(place_digest)" "$before"
	assert_missing "$ROOT/var/x.key"
}

damaged() {
	local file damage
	made
	cp -a "$LIVE" "$GBE_MEM/good"
	for file in record authority/ca.crt authority/ca.key; do
		for damage in "rm X" "truncate -s 0 X" "truncate -s 100 X" "truncate -s 2M X" "rm X; ln -s /etc/passwd X" \
			"rm X; mkfifo X" "flip X 60"; do
			(cd "$LIVE" && eval "${damage//X/$file}")
			before=$(place_digest)
			for verb in "renew --force" init "rotate-ca --undo" "issue x --client --out=/var"; do
				rc=0
				# shellcheck disable=SC2086 # words
				timeout 20 "$BUILD/greenboot-etcd" --root="$ROOT" certs $verb || rc=$?
				[[ $rc == [1357] ]] || fail "$damage of $file, $verb: status $rc"
			done
			lists
			assert_eq "after $damage of $file" "$(place_digest)" "$before"
			assert_missing "$ROOT/var/x.key"
			rm -rf "$LIVE"
			cp -a "$GBE_MEM/good" "$LIVE"
		done
	done
	rm -r "$LIVE/authority"
	before=$(place_digest)
	assert_exit 1 gbe certs renew
	assert_eq "without an authority" "$(place_digest)" "$before"
}

hostile() {
	made
	chmod 0777 "$PLACE"
	refused 5 "*can be written by others*"
	chmod 0755 "$PLACE"
	chown 65534 "$PLACE"
	refused 5 "*belongs to user 65534*"
	chown 0 "$PLACE"
	mv "$PLACE" "$PLACE.real"
	ln -s greenboot-etcd-pki.real "$PLACE"
	refused 5 "*greenboot-etcd-pki*"
	rm "$PLACE"
	mkdir "$GBE_MEM/elsewhere"
	ln -s "$GBE_MEM/elsewhere" "$PLACE"
	refused 5 "*greenboot-etcd-pki*"
	rm "$PLACE"
	: >"$PLACE"
	assert_exit 5 gbe certs init
	rm "$PLACE"
	mv "$PLACE.real" "$PLACE"
	# A symlink leads to the live directory and to the authority.
	mv "$LIVE" "$PLACE/real"
	ln -s real "$LIVE"
	refused 5 "*"
	rm "$LIVE"
	mv "$PLACE/real" "$LIVE"
	mv "$LIVE/authority" "$LIVE/real"
	ln -s real "$LIVE/authority"
	refused 5 "*"
	rm "$LIVE/authority"
	mv "$LIVE/real" "$LIVE/authority"
	# Other entries have the names of the new files.
	mkdir -p "$PLACE/.partial/a/b"
	ln -s /etc "$PLACE/.partial/c"
	assert_exit 0 gbe certs renew --force
	whole
	assert_exists /etc/passwd
	assert_exists "$ROOT/etc/greenboot-etcd"
	# The data directory is a symlink to a directory of another group.
	mkdir -p "$ROOT/srv"
	chgrp 99 "$ROOT/srv"
	rm -rf "$DATA"
	ln -s /srv "$DATA"
	assert_exit 0 gbe certs renew --force
	openssl verify -CAfile "$LIVE/ca.crt" "$LIVE/server.crt"
}

# ---- rotation ----

keep() { cp "$LIVE/server.crt" "$GBE_MEM/$1.crt"; } # NAME
# step WHY OPTION...: makes one call, and checks that all files match.
step() {
	local why=$1
	shift
	assert_exit 0 gbe --json certs rotate-ca "$@"
	fits certs-made
	assert_match reason "$(of .reason)" "$why"
	assert_eq "done" "$(of .done)" true
	whole
	BEFORE=$(place_digest)
}

rotation() {
	local first
	pki_device
	assert_exit 1 gbe certs rotate-ca
	assert_match why "$ERR" "*certs init*"
	assert_exit 0 gbe certs init
	first=$(<"$LIVE/ca.crt")
	keep first
	assert_exit 1 gbe certs rotate-ca --undo
	assert_match why "$ERR" "*nothing to undo*"
	BEFORE=$(place_digest)
	assert_exit 0 gbe --json certs rotate-ca -n
	fits certs-made
	assert_eq "dry" "$(of '[.dry_run, .done, .authority.rotation] | map(tostring) | join(" ")')" "true false trusted"
	assert_eq "what lies there" "$(place_digest)" "$BEFORE"
	step "step 1*"
	assert_eq "trusted" "$(authorities "$LIVE/ca.crt")" 2
	verified "$GBE_MEM/first.crt" "$LIVE/server.crt"
	assert_eq "issued before" "$(serial "$LIVE/server.crt")" "$(serial "$GBE_MEM/first.crt")"
	assert_exit 0 gbe --json certs list
	fits certs
	assert_eq "rotation" "$(of '.authority | [.rotation, .due] | map(tostring) | join(" ")')" "trusted null"
	# A renewal between two steps uses the former authority.
	renewed "asked for" gbe --json certs renew --force
	openssl verify -CAfile "$LIVE/authority/ca.crt" "$LIVE/server.crt"
	assert_exit 2 gbe certs rotate-ca --ca-cert=/x --ca-key=/x
	assert_exit 2 gbe certs rotate-ca --for=1d
	assert_exit 2 gbe certs rotate-ca --undo --for=1d
	step "step 1 undone*" --undo
	assert_eq "trusted" "$(<"$LIVE/ca.crt")" "$first"
	assert_missing "$LIVE/authority/other.crt"
	assert_missing "$LIVE/authority/other.key"
	step "step 1*"
	cp "$LIVE/ca.crt" "$GBE_MEM/both"
	step "step 2*"
	keep second
	assert_eq "trusted" "$(authorities "$LIVE/ca.crt")" 2
	verified "$GBE_MEM/first.crt" "$LIVE"/{server,peer,client}.crt
	openssl verify -CAfile "$GBE_MEM/both" "$LIVE/server.crt"
	openssl verify -CAfile "$LIVE/authority/ca.crt" "$LIVE/server.crt"
	! openssl verify -CAfile "$LIVE/authority/ca.crt" "$GBE_MEM/first.crt" || fail "of the former one"
	nothing_due
	step "step 2 undone*" --undo
	verified "$GBE_MEM/first.crt" "$GBE_MEM/second.crt" "$LIVE/server.crt"
	openssl verify -CAfile <(echo "$first") "$LIVE/server.crt"
	step "step 2*"
	keep second
	step "step 3*"
	assert_eq "trusted" "$(authorities "$LIVE/ca.crt")" 1
	verified "$GBE_MEM/second.crt" "$LIVE/server.crt"
	unverified "$GBE_MEM/first.crt"
	assert_eq "issued before" "$(serial "$LIVE/server.crt")" "$(serial "$GBE_MEM/second.crt")"
	nothing_due
	step "step 3 undone*" --undo
	verified "$GBE_MEM/first.crt" "$GBE_MEM/second.crt" "$LIVE/server.crt"
	step "step 3*"
	# All steps are undone.
	step "step 3 undone*" --undo
	step "step 2 undone*" --undo
	step "step 1 undone*" --undo
	assert_eq "trusted" "$(<"$LIVE/ca.crt")" "$first"
	verified "$GBE_MEM/first.crt" "$LIVE"/{server,peer,client}.crt
	unverified "$GBE_MEM/second.crt"
	assert_exit 1 gbe certs rotate-ca --undo
}

# ---- the user's authorities ----

# authorities_make DIR: makes root (RSA), middle signed by it, leaf (not a CA), old (expired), later.
authorities_make() {
	mkdir -p "$1"
	(
		cd "$1" || exit
		openssl req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.crt -days 99 -subj /O=us/CN=root \
			-addext keyUsage=critical,keyCertSign
		for name in middle leaf; do
			openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -keyout "$name.key" -out "$name.csr" -subj "/CN=$name"
			openssl x509 -req -in "$name.csr" -CA root.crt -CAkey root.key -CAcreateserial -days 99 -out "$name.crt" -extfile <(
				[[ $name == leaf ]] || printf 'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\n'
				printf 'subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n'
			)
		done
		openssl x509 -in root.crt -signkey root.key -days -1 -out old.crt
		openssl pkey -in root.key -aes128 -passout pass:x -out passphrase.key
		# The same for the key. The file has no newline at the end.
		{ cat middle.key middle.crt && head -c -1 root.crt; } >chain.pem
		cp root.crt root-and-key.pem && cat root.key >>root-and-key.pem
	)
}

own() {
	local own=/var/own server

	# Both files are on the device. The host has other files of these names.
	pki_device
	authorities_make "$ROOT$own"
	[[ ! -e $own ]] || fail "$own is here"
	assert_exit 5 gbe certs init --ca-cert="$own/leaf.crt" --ca-key="$own/leaf.key"
	assert_match why "$ERR" "*may not sign certificates*"
	assert_exit 5 gbe certs init --ca-cert="$own/old.crt" --ca-key="$own/root.key"
	assert_match why "$ERR" "*expired*"
	assert_exit 5 gbe --json certs init --ca-cert="$own/root.crt" --ca-key="$own/middle.key"
	fits error
	assert_match why "$ERR" "*key is not that of*"
	assert_exit 5 gbe certs init --ca-cert="$own/root.crt" --ca-key="$own/passphrase.key"
	assert_match why "$ERR" "*passphrase*"
	assert_exit 2 gbe certs init --ca-cert="$own/root.crt"
	assert_exit 2 gbe certs init --ca-key="$own/root.key"
	assert_exit 2 gbe certs init --ca-cert="$own/root.crt" --ca-key="$own/root.key" --for=1d
	assert_exit 1 gbe certs init --ca-cert="$own/none.crt" --ca-key="$own/root.key"
	assert_exit 5 gbe certs init --ca-cert="$own/root.key" --ca-key="$own/root.key"
	assert_missing "$LIVE"
	# Like ssh, the program refuses a key to which others have access.
	for mode in 0644 0640 0602; do
		chmod "$mode" "$ROOT$own/root-and-key.pem"
		assert_exit 5 gbe certs init --ca-cert="$own/root-and-key.pem" --ca-key="$own/root-and-key.pem"
		assert_match why "$ERR" "*$own/root-and-key.pem: other users have access*$mode*chmod 0600*"
	done
	assert_missing "$LIVE"
	chmod 0600 "$ROOT$own/root-and-key.pem"
	assert_exit 0 gbe --json certs init --ca-cert="$own/root-and-key.pem" --ca-key="$own/root-and-key.pem"
	fits certs-made
	whole
	assert_eq "trusted" "$(openssl x509 -in "$LIVE/ca.crt" | cksum)" "$(openssl x509 -in "$ROOT$own/root.crt" | cksum)"
	verified "$LIVE"/{server,peer,client}.crt
	renewed "asked for" gbe --json certs renew --force
	# The authority changes from the root to an intermediate that the root has signed, with the chain.
	step "step 1*" --ca-cert="$own/chain.pem" --ca-key="$own/middle.key"
	assert_eq "trusted" "$(authorities "$LIVE/ca.crt")" 3
	assert_match "what is trusted" "$(openssl crl2pkcs7 -nocrl -certfile "$LIVE/ca.crt" | openssl pkcs7 -print_certs -noout | xargs)" "*CN = root*CN = middle*CN = root*"
	step "step 2*"
	step "step 3*"
	assert_eq "chain" "$(authorities "$LIVE/server.crt")" 2
	# A client that has only the root also verifies it.
	openssl verify -CAfile "$ROOT$own/root.crt" -untrusted "$LIVE/server.crt" "$LIVE/server.crt"
	nothing_due
	# curl asks a server that wants a client's certificate.
	etcd_ports
	openssl s_server -quiet -accept "127.0.0.1:$ETCD_PORT" -cert "$LIVE/server.crt" -cert_chain "$LIVE/server.crt" -key "$LIVE/server.key" \
		-CAfile "$ROOT$own/root.crt" -Verify 3 -verify_return_error -www </dev/null >&2 &
	server=$!
	for ((n = 0; n < 500; n++)); do port_free "$ETCD_PORT" || break; nap 0.02; done
	curl -sS -m 9 --cacert "$ROOT$own/root.crt" --cert "$LIVE/client.crt" --key "$LIVE/client.key" "https://localhost:$ETCD_PORT/" >"$GBE_MEM/page"
	curl -sS -m 9 --cacert "$LIVE/ca.crt" --cert "$LIVE/client.crt" --key "$LIVE/client.key" "https://127.0.0.1:$ETCD_PORT/" >"$GBE_MEM/page"
	! curl -sS -m 9 --cacert "$ROOT$own/root.crt" "https://localhost:$ETCD_PORT/" || fail "without a client's certificate"
	kill "$server"
	wait "$server" || true
	# The authority expires: leaves are valid until then and cannot be issued after it. A new authority solves it.
	rm -rf "$PLACE"
	openssl x509 -in "$ROOT$own/root.crt" -signkey "$ROOT$own/root.key" -days 20 -out "$ROOT$own/short.crt"
	assert_exit 0 gbe certs init --ca-cert="$own/short.crt" --ca-key="$own/root.key"
	assert_eq "until" "$(until_of "$LIVE/server.crt")" "$(until_of "$ROOT$own/short.crt")"
	BEFORE=$(place_digest)
	clock_set $((21 * 86400))
	assert_exit 5 gbe certs renew
	assert_match why "$ERR" "*expired*rotate-ca*"
	assert_exit 5 gbe certs issue x --client --out=/var
	assert_eq "what lies there" "$(place_digest)" "$BEFORE"
	assert_exit 0 gbe certs rotate-ca
	assert_exit 0 gbe certs rotate-ca
	assert_exit 0 gbe --json certs list
	assert_eq "due" "$(of .authority.due)" null
	clock_set 0
}

clocks() {
	pki_device
	clock_set 1970
	assert_exit 5 gbe certs init
	assert_match why "$ERR" "*1970*set the clock*"
	clock_set 0
	assert_missing "$LIVE"
	assert_exit 0 gbe certs init
	BEFORE=$(place_digest)
	clock_set 1970
	assert_exit 5 gbe certs renew
	assert_match why "$ERR" "*1970*set the clock*"
	assert_exit 0 gbe --json certs list
	fits certs
	assert_eq "nothing is due" "$(of .authority.due)" null
	# The clock was set back to a day before the authority was made: the certificates may be right, and the clock
	# wrong.
	with_clock $((-9 * 86400)) assert_exit 5 gbe certs renew
	assert_match why "$ERR" "*valid only from*set the clock*"
	clock_set 1970
	assert_exit 5 gbe certs issue x --client --out=/var
	assert_exit 5 gbe certs rotate-ca
	clock_set $((11 * YEAR))
	assert_exit 5 gbe certs renew
	clock_set 0
	assert_eq "what lies there" "$(place_digest)" "$BEFORE"
	# The clock was years ahead when the authority was made, and is right now.
	rm -rf "$PLACE"
	with_clock $((3 * YEAR)) assert_exit 0 gbe certs init
	assert_exit 5 gbe certs renew
	assert_match why "$ERR" "*valid only from*set the clock*"
	assert_exit 0 gbe certs rotate-ca
	assert_exit 0 gbe certs rotate-ca
	whole_now "$LIVE/server.crt"
}
whole_now() { openssl verify -CAfile "$LIVE/ca.crt" "$1"; }

# ---- certificates for others ----

issued() {
	local name out rc

	made
	out=$ROOT/var/out
	mkdir "$out" "$GBE_MEM/cwd"
	assert_exit 0 gbe --json certs issue me.x@y-z --client --out=/var/out
	fits certs-issued
	assert_eq "files" "$(of '[.certificate, .key] | join(" ")')" "/var/out/me.x@y-z.crt /var/out/me.x@y-z.key"
	assert_eq "until" "$(of .not_after)" "$(until_of "$out/me.x@y-z.crt")"
	assert_eq "modes" "$(stat -c "%a %u" "$out"/* | xargs)" "600 0 600 0"
	verified -purpose sslclient "$out/me.x@y-z.crt"
	! verified -purpose sslserver "$out/me.x@y-z.crt" || fail "a client's is no server's"
	assert_eq "subject" "$(openssl x509 -noout -subject -in "$out/me.x@y-z.crt")" "subject=CN = me.x@y-z"
	for name in server peer; do
		assert_exit 2 gbe certs issue "$name" --"$name" --out=/var/out
		assert_exit 0 gbe --json certs issue "$name" --"$name" --host=a.example --host=::7 --host=10.0.0.7 --for=2d --out=/var/out
		fits certs-issued
		verified -purpose sslserver -verify_hostname a.example "$out/$name.crt"
		verified -purpose sslserver -verify_ip ::7 "$out/$name.crt"
		assert_match "until" "$(($(until_of "$out/$name.crt") - EPOCHSECONDS))" "172[78]*"
	done
	# Existing files are not replaced. No other file is removed, there or in the caller's directory.
	cp "$out/server.key" "$out/server.crt" "$GBE_MEM/"
	echo mine >"$GBE_MEM/cwd/half.key"
	: >"$out/half.crt"
	for name in server half; do
		rc=0
		(cd "$GBE_MEM/cwd" && gbe certs issue "$name" --client --out=/var/out) || rc=$?
		assert_eq "status of $name" "$rc" 1
	done
	(cd "$GBE_MEM/cwd" && ! gbe certs issue half --client --out=var/out) || fail "replaced"
	assert_eq "of the caller" "$(<"$GBE_MEM/cwd/half.key")" mine
	assert_missing "$out/half.key"
	cmp "$out/server.key" "$GBE_MEM/server.key"
	cmp "$out/server.crt" "$GBE_MEM/server.crt"
	echo mine >"$ROOT/half.key"
	: >"$ROOT/half.crt"
	assert_exit 1 gbe certs issue half --client
	assert_eq "of another" "$(<"$ROOT/half.key")" mine
	rm "$ROOT/half.crt" "$ROOT/half.key"
	# The path is relative to the root, like every path of the device.
	: >"$ROOT/there.crt"
	echo mine >"$GBE_MEM/cwd/there.key"
	(cd "$GBE_MEM/cwd" && ! gbe certs issue there --client) || fail "replaced"
	assert_eq "of the caller" "$(<"$GBE_MEM/cwd/there.key")" mine
	assert_missing "$ROOT/there.key"
	for name in "" . ../x a/b "a b" $'a\nb' "a,b" "a=b" "$(printf 'a%.0s' {1..65})" ä .x; do
		assert_exit 2 gbe certs issue "$name" --client --out=/var/out
	done
	for name in "a b" "a,IP:1.2.3.4" $'a\nb' "$(printf 'a%.0s' {1..300})" "" fe80::1%eth0; do
		assert_exit 2 gbe certs issue bad --server --host="$name" --out=/var/out
	done
	assert_exit 2 gbe certs issue x --out=/var/out
	assert_exit 2 gbe certs issue x --client --server --out=/var/out
	assert_exit 2 gbe certs issue x --client --for=soon --out=/var/out
	assert_exit 2 gbe certs issue x --client --for=0s --out=/var/out
	assert_exit 2 gbe certs issue --client
	assert_exit 1 gbe certs issue x --client --out=/nowhere
	assert_eq "files" "$(cd "$out" && echo *)" "half.crt me.x@y-z.crt me.x@y-z.key peer.crt peer.key server.crt server.key"
	whole
}

signed() {
	made
	(
		cd "$ROOT/var" || exit
		openssl req -newkey rsa:2048 -nodes -keyout k -out r -subj /O=x/CN=y -addext subjectAltName=DNS:a.b,IP:1.2.3.4
		openssl req -newkey rsa:1024 -nodes -keyout k2 -out weak -subj /CN=y
		echo hello >nonsense
		head -c 2M /dev/zero >large
		mkfifo fifo
	)
	assert_exit 0 gbe certs sign /var/r --server
	echo "$OUT" >"$GBE_MEM/c"
	verified -purpose sslserver -verify_hostname a.b "$GBE_MEM/c"
	assert_eq "subject" "$(openssl x509 -noout -subject -in "$GBE_MEM/c")" "subject=O = x, CN = y"
	assert_exit 0 gbe --json certs sign /var/r --client --host=other --out=/var/c
	fits certs-issued
	assert_eq "key" "$(of .key)" null
	verified -purpose sslclient "$ROOT/var/c"
	assert_eq "names" "$(san "$ROOT/var/c")" DNS:other
	cp "$ROOT/var/c" "$GBE_MEM/c"
	assert_exit 1 gbe certs sign /var/r --client --out=/var/c
	cmp "$ROOT/var/c" "$GBE_MEM/c"
	assert_exit 2 gbe --json certs sign /var/r --client
	assert_exit 2 gbe certs sign /var/r
	assert_exit 2 gbe certs sign --client
	assert_exit 5 gbe --json certs sign /var/weak --client --out=/var/d
	fits error
	assert_match why "$ERR" "*weak*"
	for name in nonsense large fifo none k; do
		rc=0
		timeout 20 "$BUILD/greenboot-etcd" --root="$ROOT" certs sign "/var/$name" --client --out=/var/d || rc=$?
		[[ $rc == [135] ]] || fail "$name: status $rc"
	done
	assert_missing "$ROOT/var/d"
	whole
}

# A key is only in the files that are for it.
secrets() {
	local key
	made
	mkdir "$ROOT/var/out"
	strace -f -s 65536 -e trace=execve,write,sendmsg,sendto -o "$GBE_MEM/trace" "$BUILD/greenboot-etcd" --root="$ROOT" \
		--json certs renew --force >"$GBE_MEM/said" 2>&1
	key=$(sed -n 3p "$LIVE/client.key")
	! grep -F -e "$key" -e PRIVATE "$GBE_MEM/said" || fail "it prints a key"
	# Each key is printed once, into its file.
	assert_eq "keys that are written" "$(grep -c 'BEGIN PRIVATE KEY' "$GBE_MEM/trace")" 4
	assert_eq "keys that are not in files" "$(grep -E '(write\([12],|send|execve).*PRIVATE KEY' "$GBE_MEM/trace")" ""
	assert_exit 0 gbe diagnose /var/out/d.tar.gz
	mkdir "$GBE_MEM/diagnose"
	tar -C "$GBE_MEM/diagnose" -xzf "$ROOT/var/out/d.tar.gz"
	for key in "$LIVE"/*.key "$LIVE/authority/ca.key"; do
		! grep -rF -e "$(sed -n 2p "$key")" -e "$(sed -n 3p "$key")" -e "PRIVATE KEY" "$GBE_MEM/diagnose" || fail "diagnose has a key"
	done
	! grep -rF "$(sed -n 2p "$LIVE/client.key")" "$ROOT/var/lib/greenboot-etcd" || fail "the state has a key"
}

# ---- cuts ----

# The program is killed, and the power cut, at each fault point that OPTION... passes. Live is the old or the new
# state. The next call finishes it and leaves nothing.
cuts() { # KIND PREPARE VERB...
	local kind=$1 prepare=$2 point rc points FS_SIZE=512M
	shift 2

	pki_device "$kind"
	"$prepare"
	sync -f "$ROOT"
	mapfile -t points < <(GREENBOOT_ETCD_FAULT_TRACE=1 faulty certs "$@" 2>&1 >/dev/null |
		sed -n 's/^fault-point \([^ ]*\) \([0-9]*\)$/\1@\2/p' | grep -v "^own-dir-made\|^lock\|^reserve" | sort -u)
	# The fault points are the steps of the change, and those of one file.
	[[ ${LEVEL:-ci} != ci ]] || mapfile -t points < <(printf '%s\n' "${points[@]}" | grep '^pki-\|@1$')
	((${#points[@]} > 1)) || fail "no fault points: ${points[*]}"
	echo "points: ${points[*]}"
	root_free
	for point in "${points[@]}"; do
		pki_device "$kind"
		"$prepare"
		sync -f "$ROOT"
		rc=0
		GREENBOOT_ETCD_FAULT=$point=kill faulty certs "$@" || rc=$?
		assert_eq "killed at $point" "$rc" 137
		disk_cut
		# etcd may start now: live is complete, or does not exist yet.
		if [[ -e $LIVE ]]; then
			openssl verify -CAfile "$LIVE/ca.crt" "$LIVE"/{server,peer,client}.crt
			for name in server peer client; do
				cmp <(openssl x509 -noout -pubkey -in "$LIVE/$name.crt") <(openssl pkey -pubout -in "$LIVE/$name.key")
			done
			# The next call of another verb also leaves nothing.
			assert_exit 0 gbe certs renew
			whole
		elif [[ $1 != init ]]; then
			fail "nothing is live after a cut at $point"
		fi
		rc=0
		gbe certs "$@" || rc=$?
		[[ $rc == 0 || $1 == init && $rc == 5 ]] || fail "after a cut at $point: status $rc"
		whole
		root_free
	done
}
nothing() { :; }
has_init() { assert_exit 0 gbe certs init; }
has_step_1() { has_init && assert_exit 0 gbe certs rotate-ca; }
has_step_2() { has_step_1 && assert_exit 0 gbe certs rotate-ca; }

# A step that fails changes nothing.
fails() {
	local point rc before
	made
	for point in pki-filled pki-written; do
		before=$(tree_digest "$LIVE")
		assert_exit 1 env "GREENBOOT_ETCD_FAULT=$point=EIO" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" certs renew --force
		assert_eq "after $point" "$(tree_digest "$LIVE")" "$before"
		assert_exit 0 gbe certs renew
		whole
	done
	for point in pki-exchanged pki-dropped; do
		rc=0
		GREENBOOT_ETCD_FAULT=$point=EIO faulty certs renew --force || rc=$?
		assert_ne "status" "$rc" 0
		assert_exit 0 gbe certs renew
		whole
	done
}

# The program that renews the certificates is in the image, and the machine is another one.
below_root() {
	pki_device
	mkdir -p "$ROOT/var/own"
	certificates "$ROOT/var/own"
	rm "$ROOT/var/own/old.crt"
	printf '#!/bin/sh\n: >%s/ran\n' "$GBE_MEM" >"$ROOT/var/renewer"
	chmod 0755 "$ROOT/var/renewer"
	config certs directories=/var/own renew-command=/var/renewer
	assert_exit 0 gbe certs renew
	assert_exit 5 gbe certs renew --force
	assert_match why "$ERR" "*below --root*"
	assert_missing "$GBE_MEM/ran"
	assert_missing "$ROOT/var/lib/greenboot-etcd/certs"
}

# The live certificates belong to the data of their member. The previous ones are then not a fallback, and the authority
# of an unknown member is kept.
moved() {
	local ids mine theirs

	device xfs
	PLACE=$ROOT$PKI LIVE=$PLACE/live
	power_on
	put k v
	stop_etcd
	assert_exit 0 gbe backup first
	ids=$(json '.[0] | "\(.cluster_id)-\(.member_id)"' list)
	assert_exit 0 gbe certs init
	assert_exit 137 env GREENBOOT_ETCD_FAULT=pki-exchanged=kill "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" certs renew --force
	assert_exists "$PLACE/.next"
	mv "$LIVE" "$PLACE/of-$ids"
	assert_exit 0 gbe certs init
	assert_eq "in $PLACE" "$(ls -A "$PLACE")" "live"$'\n'"of-$ids"
	assert_exit 137 env GREENBOOT_ETCD_FAULT=pki-exchanged=kill "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" certs renew --force
	theirs=$(tree_digest "$LIVE/authority")
	mine=$(tree_digest "$PLACE/of-$ids")
	assert_exit 0 gbe restore first
	assert_eq "in $PLACE" "$(ls -A "$PLACE")" $'live\nownerless-1'
	assert_eq "what is live" "$(tree_digest "$LIVE")" "$mine"
	assert_eq "no owner" "$(tree_digest "$PLACE/ownerless-1/authority")" "$theirs"
	nothing_due
}

# ---- by a real systemd, with a real etcd ----

# container_run CONFIG COMMANDS...: a container whose etcd wants TLS, and a person who does what stdin says. CONFIG: more
# of greenboot-etcd.conf.
container_run() {
	local etc program options=(--bind-ro="$BUILD_FAULTS")

	container_device
	chgrp etcd "$VAR/lib/etcd"
	deploy A
	populate A ""
	etc=$(deployment_dir A)/etc
	program=$(command -v "$ETCD")
	[[ $ETCD != "$ETCD_NEXT" ]] || program=/opt/etcd options+=(--bind-ro="${ETCD_NEXT%/*}:/opt")
	mkdir -p "$etc/greenboot-etcd" "$etc/ssl"
	cp -L "$(openssl version -d | cut -d'"' -f2)/openssl.cnf" "$etc/ssl/"
	printf '[etcd]\nendpoint=https://127.0.0.1:2379\n[health]\ntimeout=8s\n%s\n' "$1" >"$etc/greenboot-etcd/greenboot-etcd.conf"
	cat >"$etc/systemd/system/etcd.service" <<-EOF2
		[Service]
		Type=notify
		User=etcd
		TimeoutStartSec=20s
		EnvironmentFile=$PKI/live/etcd.env
		ExecStart=$program --name=default --data-dir=/var/lib/etcd/default --heartbeat-interval=10 \\
			--election-timeout=100 --listen-client-urls=https://127.0.0.1:2379 \\
			--advertise-client-urls=https://127.0.0.1:2379 --listen-peer-urls=https://127.0.0.1:2380 \\
			--initial-advertise-peer-urls=https://127.0.0.1:2380 --initial-cluster=default=https://127.0.0.1:2380
	EOF2
	# The person starts etcd.
	rm "$etc/systemd/system/multi-user.target.wants/etcd.service"
	{
		declare -f certificates
		echo "LIVE=$PKI/live FAULTS=$BUILD_FAULTS/greenboot-etcd"
		cat "$GBE_LIB/person.sh" -
		echo "echo all of it"
	} >"$etc/person"
	run A "${options[@]}"
	person_is_done
}
renewed_live() {
	container_run "" <<-'EOF2'
		gives 0 greenboot-etcd --json certs init >/run/out
		jq -e '.done and .healthy == null' /run/out || wrong "init"
		is "timer" "$(systemctl is-active greenboot-etcd-renew.timer)" active
		is "group" "$(stat -c '%a %U %G' $LIVE/server.key)" "640 root etcd"
		starts
		gets
		curl -sS --cacert $LIVE/ca.crt --cert $LIVE/client.crt --key $LIVE/client.key https://localhost:2379/health | grep true || wrong curl
		! curl -sS --cacert $LIVE/ca.crt https://127.0.0.1:2379/health || wrong "curl without a certificate"
		! etcdctl --endpoints=https://127.0.0.1:2379 --cacert=$LIVE/ca.crt --command-timeout=2s get k || wrong "no certificate"
		gives 0 greenboot-etcd health
		# The certificate is for another name.
		mkdir /run/other
		gives 0 greenboot-etcd certs issue client --client --out=/run/other
		cp $LIVE/ca.crt /run/other/
		gets /run/other
		# A client keeps writing while all certificates are replaced.
		touch /run/load
		while [[ -e /run/load ]]; do
			ctl put "$RANDOM" x || ctl put "$RANDOM" x || echo lost >>/run/lost
			echo one >>/run/puts
		done >/dev/null &
		for n in 1 2 3; do
			old=$(sum) before=$(wc -l </run/puts || echo 0)
			gives 0 greenboot-etcd --json certs renew --force >/run/out
			jq -e '.done and .healthy and .unused == null and (.restarted | not)' /run/out || wrong "renew"
			isnt "renewed" "$(sum)" "$old"
			until [[ $(wc -l </run/puts) -gt $((before + 3)) ]]; do sleep 0.05; done
			clean
		done
		rm /run/load
		wait
		[[ ! -e /run/lost ]] || wrong "requests were lost: $(wc -l </run/lost)"
		# The server shows the new one.
		is "shown" "$(openssl s_client -connect 127.0.0.1:2379 -cert $LIVE/client.crt -key $LIVE/client.key </dev/null 2>/dev/null |
			openssl x509 -noout -serial)" "$(openssl x509 -noout -serial -in $LIVE/server.crt)"
		gets /run/other
		# The running etcd does not know this authority.
		cp -a $LIVE/authority /run/authority
		openssl req -x509 -newkey rsa:2048 -nodes -keyout $LIVE/authority/ca.key -out $LIVE/authority/ca.crt -days 9 -subj /CN=stranger
		old=$(sum)
		gives 1 greenboot-etcd --json certs renew --timeout=3s >/run/out
		jq -e '.put_back and .healthy and (.done | not)' /run/out || wrong "not put back"
		is "put back" "$(sum)" "$old"
		is "left" "$(ls -A ${LIVE%/live})" live
		gets && gets /run/other
		cp /run/authority/ca.* $LIVE/authority/
		# The units add a name.
		printf '[certs]\nnames=more.example\n' >/etc/greenboot-etcd/greenboot-etcd.conf.d/x.conf 2>/dev/null ||
			{ mkdir -p /etc/greenboot-etcd/greenboot-etcd.conf.d && printf '[certs]\nnames=more.example\n' >/etc/greenboot-etcd/greenboot-etcd.conf.d/x.conf; }
		old=$(sum)
		gives 0 systemctl start greenboot-etcd-renew.service
		isnt "by the service" "$(sum)" "$old"
		is "group" "$(stat -c '%a %U %G' $LIVE/server.key)" "640 root etcd"
		openssl verify -CAfile $LIVE/ca.crt -verify_hostname more.example $LIVE/server.crt || wrong "its name"
		gets && clean
		mkdir -p /run/systemd/system/greenboot-etcd-renew.timer.d
		printf '[Timer]\nOnCalendar=\nOnActiveSec=0\nRandomizedDelaySec=0\nPersistent=no\n' >/run/systemd/system/greenboot-etcd-renew.timer.d/x.conf
		systemctl daemon-reload
		rm $LIVE/peer.crt
		old=$(sum)
		systemctl restart greenboot-etcd-renew.timer
		for n in {1..200}; do [[ ! -e $LIVE/peer.crt ]] || break; sleep 0.05; done
		isnt "by the timer" "$(sum)" "$old"
		until [[ $(systemctl is-active greenboot-etcd-renew.service) != activating ]]; do sleep 0.05; done
		is "the service" "$(systemctl show -P Result greenboot-etcd-renew.service)" success
		gets && clean
		# etcd is down, so no member is asked.
		systemctl stop etcd
		gives 0 greenboot-etcd certs renew --force
		clean
		starts
		gets
		# etcd without TLS is healthy, and shows nothing of the certificates.
		systemctl stop etcd
		sed -i 's|https://|http://|g; /^EnvironmentFile/d' /etc/systemd/system/etcd.service /etc/greenboot-etcd/greenboot-etcd.conf
		systemctl daemon-reload
		systemctl start etcd
		gives 0 greenboot-etcd --json certs renew --force >/run/out
		jq -e '.done and .healthy and (.unused | test("at http://127.0.0.1:2379, which has no TLS"))' /run/out || wrong "unused: $(cat /run/out)"
		gives 0 greenboot-etcd certs renew --force >/run/out
		grep "certificates were not tried: etcd does not use these certificates at http://127.0.0.1:2379" /run/out || wrong "what is said: $(cat /run/out)"
		! grep "with the new certificates" /run/out || wrong "said to be used"
	EOF2
	in_order "certs init" "certs renew" "put back" "all of it$"
}

rotated_live() {
	container_run "" <<-'EOF2'
		keep() { rm -rf /run/$1 && mkdir /run/$1 && cp $LIVE/ca.crt $LIVE/client.* /run/$1/; }
		step() { # WHY OPTION...
			gives 0 greenboot-etcd --json certs rotate-ca "${@:2}" >/run/out
			jq -e '.done and .healthy' /run/out || wrong "$1"
			gets
			clean
		}
		started() { systemctl show -P ExecMainStartTimestampMonotonic etcd; }
		gives 0 greenboot-etcd certs init
		starts
		keep first
		at=$(started)
		step "step 1"
		isnt "restarted" "$(started)" "$at"
		keep both
		gets /run/first
		at=$(started)
		step "step 2"
		is "not restarted" "$(started)" "$at"
		keep second
		# Until step 3, both authorities and the former client's certificate work.
		gets /run/both
		step "step 2 undone" --undo
		gets /run/first && gets /run/second && gets /run/both
		step "step 2 again"
		keep second
		step "step 3"
		gets /run/second
		getsnt /run/both
		step "step 3 undone" --undo
		gets /run/both && gets /run/second
		step "step 2 undone" --undo
		step "step 1 undone" --undo
		gets /run/first
		getsnt /run/second
		# A unit does not start again: the old certificates are put back.
		step "step 1"
		old=$(sum)
		mkdir -p /run/systemd/system/etcd.service.d
		printf '[Service]\nExecStartPre=/bin/sh -c "[ $$(grep -c BEGIN %s) != 1 ]"\n' $LIVE/ca.crt >/run/systemd/system/etcd.service.d/x.conf
		systemctl daemon-reload
		step "step 2"
		old=$(sum)
		gives 1 greenboot-etcd --json certs rotate-ca --timeout=3s >/run/out
		jq -e '.put_back and .healthy and (.done | not)' /run/out || wrong "step 3 is not put back"
		is "put back" "$(sum)" "$old"
		gets && clean
	EOF2
}

sealed() {
	container_run "" <<-'EOF2'
		command -v systemd-creds || wrong "no systemd-creds"
		gives 0 greenboot-etcd certs init --seal -n
		[[ ! -e $LIVE && ! -e /var/lib/systemd/credential.secret ]] || wrong "a dry run made something"
		strace -f -s 65536 -e trace=execve,execveat -o /run/trace greenboot-etcd --json certs init --seal >/run/out || wrong "init --seal: $(cat /run/out)"
		jq -e .authority.sealed /run/out || wrong "not sealed"
		! grep -e "PRIVATE" /run/trace || wrong "a key is in argv"
		grep -c "systemd-creds.*encrypt" /run/trace || wrong "not by systemd-creds"
		is "authority" "$(ls -A $LIVE/authority | xargs)" "ca.crt ca.key.cred"
		is "mode" "$(stat -c '%a %U' $LIVE/authority/ca.key.cred)" "600 root"
		! grep -r PRIVATE $LIVE/authority /var/lib/systemd || wrong "not sealed"
		starts
		gives 0 greenboot-etcd certs renew --force
		gets && clean
		# The unit runs it in its sandbox.
		rm $LIVE/server.crt
		gives 0 systemctl start greenboot-etcd-renew.service
		gets && clean
		gives 0 greenboot-etcd certs issue x --client --out=/run
		openssl verify -CAfile $LIVE/ca.crt /run/x.crt || wrong issue
		gives 0 greenboot-etcd certs rotate-ca --seal
		gives 0 greenboot-etcd certs rotate-ca
		gives 0 greenboot-etcd certs rotate-ca
		gets && clean
		is "authority" "$(ls -A $LIVE/authority | xargs)" "ca.crt ca.key.cred other.crt other.key.cred"
		gives 0 greenboot-etcd diagnose /run/d.tar.gz
		! tar -xOzf /run/d.tar.gz | grep -a "PRIVATE KEY" || wrong diagnose
		# Another machine has sealed the key.
		mv /var/lib/systemd/credential.secret /run/
		old=$(sum)
		gives 1 greenboot-etcd certs renew --force
		is "what lies there" "$(sum)" "$old"
		gives 0 greenboot-etcd certs renew
		clean
	EOF2
}

# The new certificates do not work, and etcd was down, or failed, before the check.
failed_live() {
	container_run "" <<-'EOF2'
		gives 0 greenboot-etcd certs init
		starts
		old=$(sum)
		cp -a $LIVE/authority /run/authority
		openssl req -x509 -newkey rsa:2048 -nodes -keyout $LIVE/authority/ca.key -out $LIVE/authority/ca.crt -days 9 -subj /CN=stranger
		GREENBOOT_ETCD_FAULT=pki-exchanged=kill $FAULTS certs renew --force || true
		cp /run/authority/ca.* ${LIVE%/live}/.next/authority/
		isnt "what is live" "$(sum)" "$old"
		systemctl kill --signal=KILL etcd
		until [[ $(systemctl is-active etcd) == failed ]]; do sleep 0.05; done
		gives 1 greenboot-etcd --json certs renew --timeout=3s >/run/out
		jq -e '.put_back and .healthy and (.done | not)' /run/out || wrong "not put back: $(cat /run/out)"
		is "put back" "$(sum)" "$old"
		gets && clean
	EOF2
}

# Another program renews these certificates.
by_command() {
	container_run $'[certs]\ndirectories=/var/lib/own\nrenew-command=/etc/renewer now' <<-'EOF2'
		OWN=/var/lib/own
		certificates $OWN
		chown -R etcd $OWN
		chmod 0600 $OWN/*.key
		printf '[etcd]\ncacert=%s\ncert=%s\nkey=%s\n' $OWN/ca.crt $OWN/client.crt $OWN/client.key >>/etc/greenboot-etcd/greenboot-etcd.conf
		mkdir -p ${LIVE%/live}
		printf 'ETCD_CERT_FILE=%s\nETCD_KEY_FILE=%s\nETCD_TRUSTED_CA_FILE=%s\nETCD_CLIENT_CERT_AUTH=true\nETCD_PEER_AUTO_TLS=true\n' \
			$OWN/server.crt $OWN/server.key $OWN/ca.crt >/etc/own.env
		sed -i "s|^EnvironmentFile=.*|EnvironmentFile=/etc/own.env|" /etc/systemd/system/etcd.service
		cat >/etc/renewer <<'SH'
		#!/bin/bash
		set -e
		cd /var/lib/own
		case $(cat /run/mode) in
		good)
			openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 9 -extfile ext -out server.crt
			openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 9 -extfile ext -out client.crt
			rm -f old.crt
			;;
		fail) echo half >server.crt; rm client.key; echo "the server at the other end is away" >&2; exit 3 ;;
		rubbish) echo rubbish >server.crt; echo rubbish >new-file ;;
		stranger) openssl req -x509 -newkey rsa:2048 -nodes -keyout server.key -out server.crt -days 9 -subj /CN=stranger; chown etcd server.key ;;
		esac
		SH
		sed -i 's/^\t*//' /etc/renewer
		chmod 0755 /etc/renewer
		systemctl daemon-reload
		whole() { (cd $OWN && find . -type f -printf '%P %m %U %G\n' | sort && find . -type f | sort | xargs sha256sum) | sha256sum | cut -c 1-16; }
		systemctl start etcd
		by $OWN put k v
		old=$(whole)
		for mode in fail rubbish stranger; do
			echo $mode >/run/mode
			gives 1 greenboot-etcd --json certs renew --timeout=3s >/run/out
			jq -e '.put_back and .healthy and (.done | not)' /run/out || wrong "$mode is not put back"
			is "after $mode" "$(whole)" "$old"
			gets $OWN
		done
		echo fail >/run/mode
		gives 1 greenboot-etcd certs renew --timeout=3s 2>/run/err
		grep "renewer ended with status 3: the server at the other end is away" /run/err || wrong "why: $(cat /run/err)"
		echo good >/run/mode
		gives 0 systemctl start greenboot-etcd-renew.service
		[[ ! -e $OWN/old.crt ]] || wrong "the service has not renewed"
		isnt "by the service" "$(whole)" "$old"
		gets $OWN
		old=$(whole)
		gives 0 greenboot-etcd --json certs renew >/run/out
		jq -e '.reason == null and (.done | not)' /run/out || wrong "due again"
		is "nothing is due" "$(whole)" "$old"
		gives 0 greenboot-etcd certs renew --force
		isnt "asked for" "$(whole)" "$old"
		gets $OWN
		is "archives" "$(ls -A /var/lib/greenboot-etcd/certs | grep -c open)" 0
	EOF2
}

suite_begin "$@"
run_case init init
run_case renew renew
run_case leaves leaves
run_case damaged damaged
run_case hostile hostile
run_case rotation rotation
run_case own own
run_case clocks clocks
run_case issued issued
run_case signed signed
run_case secrets secrets
for kind in $(kinds "xfs ext4"); do
	run_case "cuts-init@$kind" cuts "$kind" nothing init
	run_case "cuts-renew@$kind" cuts "$kind" has_init renew --force
	run_case "cuts-rotate-1@$kind" cuts "$kind" has_init rotate-ca
	run_case "cuts-rotate-2@$kind" cuts "$kind" has_step_1 rotate-ca
	run_case "cuts-rotate-undo@$kind" cuts "$kind" has_step_2 rotate-ca --undo
done
run_case fails fails
if command -v systemd-nspawn >/dev/null; then
	run_case live-renewed renewed_live
	run_case live-rotated rotated_live
	run_case live-sealed sealed
	run_case live-command by_command
	if [[ $ETCD_NEXT ]]; then
		run_case live-renewed-next with "$ETCD_NEXT" renewed_live
	fi
else
	echo "skip live: systemd-nspawn is not installed (make deps)"
fi
run_case below-root below_root
run_case moved moved
if command -v systemd-nspawn >/dev/null; then
	run_case live-failed failed_live
fi
suite_end
