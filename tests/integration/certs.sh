#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Certificates made by OpenSSL: the messages about them, and their renewal. A real systemd runs an etcd whose service
# renews them.

# shellcheck disable=SC2317,SC2119 # cases are called by name; arguments that are optional
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

PKI=/var/lib/pki

# cert NAME FILTER, key NAME FILTER: prints a value of that file below PKI, from the last list.
cert() { of ".certificates[] | select(.path == \"$PKI/$1\") | $2"; }
key() { of ".keys[] | select(.path == \"$PKI/$1\") | $2"; }

# pki_device: makes certificates of 9 days in $ROOT$PKI for the configured endpoint.
pki_device() {
	device xfs
	certificates "$ROOT$PKI"
	config certs "directories=$PKI"
	config etcd endpoint=https://127.0.0.1:1
	config health cert-warn=1d
}

list() {
	pki_device
	assert_exit 0 gbe --json certs list
	fits certs
	assert_eq certificates "$(of '[.certificates[].path] | join(" ")')" \
		"$PKI/ca.crt $PKI/client.crt $PKI/old.crt $PKI/server.crt"
	assert_eq keys "$(of '[.keys[].path] | join(" ")')" "$PKI/ca.key $PKI/client.key $PKI/server.key"
	assert_eq unread "$(of .unread)" "[]"
	# The dates are those that openssl prints.
	assert_eq subject "$(cert server.crt .subject)" CN=server
	assert_eq issuer "$(cert server.crt .issuer)" CN=ca
	assert_eq until "$(cert server.crt .not_after)" "$(date +%s -d "$(openssl x509 -noout -enddate \
		-in "$ROOT$PKI/server.crt" | cut -d= -f2)")"
	assert_eq since "$(cert server.crt .not_before)" "$(date +%s -d "$(openssl x509 -noout -startdate \
		-in "$ROOT$PKI/server.crt" | cut -d= -f2)")"
	assert_match days "$(cert server.crt .days_left)" "[89]"
	assert_eq names "$(cert server.crt '.names | join(" ")')" IP:127.0.0.1
	assert_eq "a CA" "$(cert ca.crt '[.ca, .chain, .endpoint] | map(tostring) | join(" ")')" \
		"true self-signed null"
	assert_eq "signed" "$(cert server.crt '[.ca, .chain, .signed_by, .endpoint] | join(" ")')" \
		"false signed $PKI/ca.crt true"
	assert_eq "its key" "$(cert server.crt .key)" "$PKI/server.key"
	assert_eq "of a key" "$(key client.key .certificate)" "$PKI/client.crt"
	assert_eq "expired" "$(cert old.crt .problem)" "has expired"
	assert_eq problems "$(of '[.certificates[], .keys[] | select(.problem != null)] | length')" 1
	config etcd endpoint=https://other:1
	config health cert-warn=10d
	assert_exit 0 gbe --json certs list
	assert_eq "another name" "$(cert server.crt .endpoint)" false
	assert_match "soon" "$(cert server.crt .problem)" "expires in [89] days"
	config etcd endpoint=http://127.0.0.1:1
	assert_exit 0 gbe --json certs list
	assert_eq "no TLS" "$(cert server.crt .endpoint)" null
	assert_exit 0 gbe certs list
	assert_match text "$OUT" "*$PKI/server.crt (certificate, 0644)*Issuer: CN=ca (signed by $PKI/ca.crt)*"
}

# Any content of the directory gives an answer that names the problem and changes nothing.
odd() {
	local before

	pki_device
	(
		cd "$ROOT$PKI" || exit
		openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.crt -days 9 -subj /CN=ca
		openssl req -newkey rsa:2048 -nodes -keyout x.key -out x.csr -subj /CN=x
		mkdir -p of-another
		openssl x509 -req -in x.csr -CA other.crt -CAkey other.key -set_serial 1 -days 9 -out of-another/x.crt
		rm other.crt other.key x.key
		cp client.crt foreign.crt && openssl genrsa -out foreign.key
		chmod 0644 client.key && chmod 0666 old.crt
		openssl pkey -aes128 -passout pass:x -in server.key -out passphrase.key
		cat server.key server.crt ca.crt >bundle.pem
		openssl genpkey -algorithm ed25519 -out a\ b.key
		echo garbage >garbage.crt && echo garbage >README && : >empty.key
		head -c 300 ca.crt >cut.crt
		head -c 2M /dev/zero >large.pem
		mkfifo fifo.key && ln -s /etc/passwd link.crt && ln -s .. up
	)
	before=$(tree_digest "$ROOT$PKI")
	assert_exit 7 timeout 20 setsid -w "$(program greenboot-etcd)" --root="$ROOT" --json certs list </dev/null
	fits certs
	assert_eq "another CA of that name" "$(cert of-another/x.crt '[.chain, .problem] | join(": ")')" \
		"wrong: is not signed by the CA here that has its issuer's name"
	assert_eq "foreign key" "$(key foreign.key '[.certificate, .problem] | map(tostring) | join(": ")')" \
		"null: is not the key of $PKI/foreign.crt"
	assert_eq "readable" "$(key client.key .problem)" "can be read by everybody: chmod 0600"
	assert_eq "writable" "$(cert old.crt .problem)" "can be written by everybody; has expired"
	assert_match "passphrase" "$(key passphrase.key .problem)" "needs a passphrase*"
	assert_eq "bundle" "$(cert bundle.pem .position | xargs) $(key bundle.pem .position)" "2 3 1"
	assert_eq "another kind of key" "$(key 'a b.key' .problem)" null
	assert_eq unread "$(of '[.unread[].path] | sort | join(" ")')" \
		"$PKI/cut.crt $PKI/empty.key $PKI/garbage.crt $PKI/large.pem"
	! grep -q "passwd\|link\|fifo\|PRIVATE" <<<"$OUT" || fail "$OUT"
	assert_eq "what lies there" "$(tree_digest "$ROOT$PKI")" "$before"
}

places() {
	pki_device
	config certs "directories=$PKI /nowhere"
	assert_exit 7 gbe --json certs list
	fits certs
	assert_eq unread "$(of '.unread[].path')" /nowhere
	assert_eq certificates "$(of '.certificates | length')" 4
	rm -rf "${ROOT:?}$PKI"
	mkdir "$ROOT$PKI"
	{ set +x; } 2>/dev/null
	for n in {1..10000}; do echo "$n" >"$ROOT$PKI/$n"; done
	set -x
	config certs "directories=$PKI"
	assert_exit 7 gbe --json certs list
	fits certs
	assert_eq truncated "$(of .truncated)" true
	unconfig certs directories
	assert_exit 0 gbe --json certs list
	fits certs
	assert_exit 0 gbe certs list
	assert_match text "$OUT" "*directories names no*"
	# A verb that only reads gives a warning, and uses the rest of the configuration.
	config certs directories=/
	assert_exit 0 gbe certs list
	assert_match warning "$ERR" '*directories: "/" is not a list of absolute paths*'
	config certs "directories=$PKI" regenerated=../x
	assert_match warning "$(gbe certs list 2>&1)" "*regenerated: *"
	unconfig certs regenerated
	assert_exit 2 gbe certs
	assert_exit 2 gbe certs lose
	# A user without permission gets only this message.
	chmod 0700 "$ROOT$PKI"
	assert_exit 7 gbe_as_user --json certs list
	assert_eq unread "$(of '.unread[].path')" "$PKI"
}

# An early expiry is reported wherever people look, and does not change the verdict.
warned() {
	device xfs
	certificates "$ROOT$PKI"
	rm "$ROOT$PKI/old.crt"
	config certs "directories=$PKI"
	config metrics textfile=/var/lib/etcd.prom
	config health cert-warn=1d
	power_on
	put k v
	assert_exit 0 hook monitor
	assert_eq series "$(grep -c '^greenboot_etcd_certificate_expiry_seconds{file="'"$PKI"'/' "$ROOT/var/lib/etcd.prom")" 3
	assert_eq value "$(sed -n "s|^greenboot_etcd_certificate_expiry_seconds{file=\"$PKI/server.crt\"} ||p" \
		"$ROOT/var/lib/etcd.prom")" "$(date +%s -d "$(openssl x509 -noout -enddate \
		-in "$ROOT$PKI/server.crt" | cut -d= -f2)")"
	assert_missing "$ROOT/run/motd.d/greenboot-etcd"
	assert_eq warnings "$(json '.etcd.warnings | length' status)" 0
	config health cert-warn=10d
	assert_exit 0 hook monitor
	assert_match motd "$(tr -s '\n ' ' ' <"$ROOT/run/motd.d/greenboot-etcd")" \
		"*certificates: $PKI/* expires in [89] days*"
	assert_exit 0 gbe status
	assert_match status "$OUT" "*etcd *healthy*certificates: $PKI/* expires in*"
	assert_exit 0 gbe --json status
	fits status
	assert_match "status.json" "$(jq -r '.status.etcd.warnings[]' "$ROOT/run/greenboot-etcd/status.json")" "*.crt expires*"
	assert_eq "protection" "$(json .protection.reason status)" "there is no good backup"
	assert_exit 0 gbe health -v
	assert_match health "$OUT" "*certificates*$PKI/*.crt expires*"
	# Of several authorities in one file, the last counts; of a chain, the certificate.
	(
		cd "$ROOT$PKI" || exit
		openssl req -x509 -key ca.key -out long.crt -days 99 -subj /CN=ca
		cat ca.crt long.crt >bundle.pem
		cat server.crt long.crt >chain.pem
		rm ca.crt client.crt server.crt long.crt
	)
	assert_exit 0 gbe status
	assert_match status "$OUT" "*certificates: $PKI/chain.pem expires in [89] days (*"
}

# On a device that starts in 1970, the age of certificates is unknown until the clock is set.
unset_clock() {
	device xfs
	etcd_over_tls "$ROOT$PKI"
	rm "$ROOT$PKI/old.crt"
	power_on
	config etcd "endpoint=$ETCD_TLS" "cacert=$PKI/ca.crt" "cert=$PKI/client.crt" "key=$PKI/client.key"
	config certs "directories=$PKI"
	config health cert-warn=1d request-timeout=1s timeout=2s
	assert_exit 0 gbe --json health
	assert_eq "with a clock" "$(of '.steps[] | select(.step == "certificates") | .result')" passed
	clock_set 1970
	assert_exit 7 gbe --json health
	fits health
	assert_eq "certificates" "$(of '.steps[] | select(.step == "certificates") | [.result, .figure] | map(tostring) | join(" ")')" "warning null"
	assert_match "why" "$(of '.steps[] | select(.step == "certificates") | .detail')" "the clock says 1970-01-01 *cannot be right: the validity is unknown*"
	assert_eq "cause" "$(of .cause)" clock
	assert_match "reason" "$(of .reason)" "*the clock says 1970-01-01 *set the clock"
	assert_exit 0 gbe --json certs list
	fits certs
	assert_match "problem" "$(cert server.crt .problem)" "has an unknown validity: the clock says 1970-*"
	assert_eq "days" "$(cert server.crt .days_left)" null
	assert_exit 0 gbe certs list
	! grep "days left" <<<"$OUT" || fail "days of a clock that is wrong"
	# A clock that is only a little late.
	clock_set $((-2 * 86400))
	assert_exit 7 gbe --json health
	assert_match "why" "$(of '.steps[] | select(.step == "certificates") | .detail')" "* is valid from *the validity is unknown*"
	clock_set 0
	assert_exit 0 gbe health
}

exported() {
	device xfs
	ETCD_OPTIONS=()
	etcd_over_tls "$ROOT$PKI"
	power_on
	config etcd "endpoint=$ETCD_TLS" "cacert=$PKI/ca.crt" "cert=$PKI/client.crt" "key=$PKI/client.key"
	put k v
	assert_exit 0 gbe --json certs export /var/lib/client.tar.gz
	fits certs-export
	assert_eq mode "$(stat -c "%a %u" "$ROOT/var/lib/client.tar.gz")" "600 0"
	assert_missing "$ROOT/var/lib/client.tar.gz.part"
	# These certificates are from another machine.
	mkdir "$GBE_MEM/o ther"
	tar -C "$GBE_MEM/o ther" -xzf "$ROOT/var/lib/client.tar.gz"
	assert_eq "in it" "$(cd "$GBE_MEM/o ther" && stat -c "%n %a" -- * | xargs)" \
		"README 600 ca.crt 600 client.crt 600 client.key 600 etcdctl.env 600"
	cmp "$GBE_MEM/o ther/client.key" "$ROOT$PKI/client.key"
	assert_eq "etcdctl with it" "$(cd "$GBE_MEM/o ther" && ETCDCTL=$ETCDCTL sh -euc '. ./etcdctl.env
		cd / && "$ETCDCTL" get k --print-value-only')" v
	assert_exit 1 gbe certs export /var/lib/client.tar.gz
	assert_match why "$ERR" "*client.tar.gz*"
	cmp "$GBE_MEM/o ther/ca.crt" "$ROOT$PKI/ca.crt"
	assert_exit 1 gbe certs export /nowhere/x
	assert_exit 2 gbe certs export
	assert_exit 2 gbe certs list x
	config etcd "key=$PKI/server.key"
	assert_exit 5 gbe --json certs export /var/lib/other
	fits error
	assert_match why "$ERR" "*server.key*is not the key of the certificate*"
	unconfig etcd cacert && unconfig etcd cert && unconfig etcd key
	assert_exit 5 gbe certs export /var/lib/other
	assert_match why "$ERR" "*credentials are missing*"
	assert_missing "$ROOT/var/lib/other"
}

# ---- reset below a root, without a service ----

# reset_device KIND: everything in PKI except the CA's key is made again.
reset_device() {
	device "$1"
	[[ -e $GBE_MEM/pki ]] || certificates "$GBE_MEM/pki"
	cp -a "$GBE_MEM/pki" "$ROOT$PKI"
	mkdir -m 0750 "$ROOT$PKI/sub"
	chown 7:8 "$ROOT$PKI/sub"
	cp -a "$ROOT$PKI/server.key" "$ROOT$PKI/sub/own.key"
	chmod 0640 "$ROOT$PKI/sub/own.key"
	chown 7:8 "$ROOT$PKI/sub/own.key"
	setfattr -n user.test -v value "$ROOT$PKI/sub/own.key"
	ln -s sub/own.key "$ROOT$PKI/link.key"
	ln -s /etc "$ROOT$PKI/elsewhere"
	config certs "directories=$PKI /nowhere" "regenerated=*.crt ser* *.key /etc/*"
	config etcd "service="
	BEFORE=$(tree_digest "$ROOT$PKI")
	sync -f "$ROOT"
}
# content DIR: prints names, modes, owners and contents. The times of directories are left out, as they are not put
# back.
content() {
	(cd "$1" && find . ! -type d -printf '%p %y %m %U %G %s %T@ %l\n' -o -printf '%p %m %U %G\n' | sort &&
		find . -type f -exec sha256sum {} + | sort && getfattr -d sub/own.key 2>/dev/null)
}
archives() { (cd "$ROOT/var/lib/greenboot-etcd/certs" && echo *); }
faulty() { "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" "$@"; }

reset() { # KIND
	local etc old

	reset_device "$1"
	etc=$(content "$ROOT/etc") old=$(content "$ROOT$PKI")
	assert_exit 0 gbe --json certs reset -n
	fits certs-reset
	assert_eq "would have" "$(of '[.removed[]] | sort | join(" ")')" "$(
		for name in ca.crt ca.key client.crt client.key link.key old.crt server.crt server.csr server.key sub/own.key; do
			echo "$PKI/$name"
		done | xargs)"
	assert_eq "what lies there" "$(tree_digest "$ROOT$PKI")" "$BEFORE"
	assert_exit 0 gbe --json certs reset
	fits certs-reset
	assert_eq "done" "$(of '[.done, .put_back] | join(" ")')" "true false"
	assert_eq "left" "$(cd "$ROOT$PKI" && find . | sort | xargs)" ". ./ca.srl ./client.csr ./elsewhere ./ext ./sub"
	assert_eq "what a symlink leads to" "$(content "$ROOT/etc")" "$etc"
	assert_eq "mode of the archives" "$(stat -c %a "$ROOT/var/lib/greenboot-etcd/certs")" 700
	# A directory that the reset removed is put back. A new file is removed, and is there again the second time.
	rmdir "$ROOT$PKI/sub"
	echo new >"$ROOT$PKI/ca.crt"
	assert_exit 0 gbe --json certs reset --undo
	fits certs-reset
	assert_eq "of before" "$(content "$ROOT$PKI")" "$old"
	assert_exit 0 gbe certs reset --undo
	assert_eq "of the service" "$(<"$ROOT$PKI/ca.crt")" new
	assert_missing "$ROOT$PKI/server.key"
	assert_eq "kept" "$(archives)" "2 3"
	assert_exit 0 gbe certs reset --undo
	assert_eq "of before" "$(content "$ROOT$PKI")" "$old"
	rm -rf "${ROOT:?}$PKI"
	assert_exit 0 gbe certs reset
	assert_match text "$OUT" "*nothing that*"
	assert_eq "kept" "$(archives)" "3 4"
}

reset_refused() {
	reset_device xfs
	unconfig certs regenerated
	assert_exit 5 gbe --json certs reset
	fits error
	assert_match why "$ERR" "*regenerated is empty*by hand*"
	config certs "regenerated=*" "directories="
	assert_exit 5 gbe certs reset
	assert_match why "$ERR" "*directories is empty*"
	config certs "directories=$PKI"
	assert_exit 1 gbe certs reset --undo
	assert_match why "$ERR" "*nothing to undo*"
	assert_exit 2 gbe certs reset --timeout=soon
	assert_exit 2 gbe certs list --undo
	mkfifo "$ROOT$PKI/fifo.key"
	assert_exit 5 timeout 20 "$(program greenboot-etcd)" --root="$ROOT" certs reset
	assert_match why "$ERR" "*fifo.key*"
	rm "$ROOT$PKI/fifo.key"
	# Paths that are not directories of certificates.
	truncate -s 65M "$ROOT$PKI/data"
	assert_exit 5 gbe certs reset
	assert_match why "$ERR" "*more than certificates take up*"
	rm "$ROOT$PKI/data"
	mv "$ROOT$PKI" "$ROOT$PKI.real"
	ln -s pki.real "$ROOT$PKI"
	assert_exit 5 gbe certs reset
	rm "$ROOT$PKI"
	mv "$ROOT$PKI.real" "$ROOT$PKI"
	assert_exit 1 gbe_as_user certs reset
	assert_match why "$ERR" "*needs root*"
	assert_eq "what lies there" "$(tree_digest "$ROOT$PKI")" "$BEFORE"
	assert_eq "archives" "$(archives)" "*"
}

# The program is killed, or the power is cut, after each step. The result is the old content, or an archive of it that
# a message names and that is put back. After the last step the reset has ended.
# steps: certs reset
reset_cut() { # KIND
	local half old point rc

	reset_device "$1"
	for point in certs-archive-filled certs-file-removed certs-file-removed@4 \
		$(GREENBOOT_ETCD_FAULT=steps faulty certs reset | grep -vx certs-closed); do
		root_free
		reset_device "$1"
		old=$(content "$ROOT$PKI")
		rc=0
		GREENBOOT_ETCD_FAULT=$point=kill faulty certs reset || rc=$?
		assert_eq "killed at $point" "$rc" 137
		disk_cut
		if [[ $point == certs-archive-filled || $point == certs-looked || $point == certs-stopped ]]; then
			assert_exit 1 gbe certs reset --undo
		else
			assert_exit 5 gbe certs reset
			assert_match why "$ERR" "*was interrupted*--undo*"
			# The same half-way: in the middle of a file, and between two files.
			for half in clone-file-copied@2 certs-file-put-back@2; do
				GREENBOOT_ETCD_FAULT=$half=kill faulty certs reset --undo || true
				assert_eq "left at $half" "$(find "$ROOT$PKI" -name '.gbe-tmp*')" ""
				disk_cut
			done
			assert_exit 0 gbe certs reset --undo
			assert_eq "archives" "$(archives)" "*"
		fi
		assert_eq "after $point" "$(content "$ROOT$PKI")" "$old"
		assert_exit 0 gbe certs reset
		assert_exit 0 gbe certs reset --undo
		assert_eq "again" "$(content "$ROOT$PKI")" "$old"
	done
}

# A failed step is undone at once.
reset_fails() {
	local point old

	reset_device xfs
	old=$(content "$ROOT$PKI")
	for point in certs-archive-filled certs-archived certs-file-removed@3 certs-removed; do
		assert_exit 1 env "GREENBOOT_ETCD_FAULT=$point=EIO" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" certs reset
		assert_eq "after $point" "$(content "$ROOT$PKI")" "$old"
		rm -rf "$ROOT/var/lib/greenboot-etcd/certs"
	done
	# The archive has no room: certs lie on another file system.
	mv "$ROOT$PKI" "$ROOT$PKI.real"
	fs_at ext4 "$ROOT$PKI" 32M
	cp -a "$ROOT$PKI.real/." "$ROOT$PKI/"
	head -c 8M /dev/urandom >"$ROOT$PKI/large"
	BEFORE=$(tree_digest "$ROOT$PKI")
	fallocate -l 100G "$ROOT/filler" 2>/dev/null || dd if=/dev/zero of="$ROOT/filler" bs=1M 2>/dev/null || true
	assert_exit 1 gbe certs reset
	assert_match why "$ERR" "*o space left*"
	assert_eq "what lies there" "$(tree_digest "$ROOT$PKI")" "$BEFORE"
	rm "$ROOT/filler"
	assert_exit 0 gbe certs reset
}

# ---- reset with systemd: a service that makes missing certificates ----

# container_run COMMANDS: runs a container whose etcd, over TLS, makes its missing certificates. A person runs
# COMMANDS.
container_run() {
	local etc program options=()

	container_device
	deploy A
	populate A "$1"
	etc=$(deployment_dir A)/etc
	program=$(command -v "$ETCD")
	[[ $ETCD != "$ETCD_NEXT" ]] || program=/opt/etcd options=(--bind-ro="${ETCD_NEXT%/*}:/opt")
	mkdir -p "$etc/greenboot-etcd" "$etc/ssl"
	cp -L "$(openssl version -d | cut -d'"' -f2)/openssl.cnf" "$etc/ssl/"
	cat >"$etc/greenboot-etcd/greenboot-etcd.conf" <<-EOF2
		[etcd]
		endpoint=https://127.0.0.1:2379
		cacert=$PKI/ca.crt
		cert=$PKI/client.crt
		key=$PKI/client.key
		[health]
		timeout=15s
		[certs]
		directories=$PKI
		regenerated=*
	EOF2
	{
		declare -f certificates
		cat <<-EOF2
			[[ ! -e /run/failing || -e $PKI/ca.crt ]] || exit 1
			[[ ! -e $PKI/ca.crt ]] || exit 0
			certificates $PKI
			# This CA did not issue the certificate.
			[[ ! -e /run/broken ]] || openssl req -x509 -newkey rsa:2048 -nodes -keyout $PKI/ca.key \
				-out $PKI/ca.crt -days 9 -subj /CN=ca
			chown -R etcd $PKI
		EOF2
	} >"$etc/make"
	cat >"$etc/systemd/system/etcd.service" <<-EOF2
		[Service]
		Type=notify
		User=etcd
		TimeoutStartSec=20s
		ExecStartPre=+/bin/bash /etc/make
		ExecStart=$program --name=default \\
			--data-dir=/var/lib/etcd/default --listen-client-urls=https://127.0.0.1:2379 \\
			--advertise-client-urls=https://127.0.0.1:2379 --cert-file=$PKI/server.crt \\
			--key-file=$PKI/server.key --trusted-ca-file=$PKI/ca.crt --client-cert-auth
	EOF2
	{
		cat <<-EOF2
			PKI=$PKI
		EOF2
		cat "$GBE_LIB/person.sh"
		cat <<-'EOF2'
			ctl() { etcdctl --endpoints=https://127.0.0.1:2379 --cacert=$PKI/ca.crt --cert=$PKI/client.crt --key=$PKI/client.key "$@"; }
			sum() { cat $PKI/* | sha256sum | cut -c 1-16; }
			grows() { is value "$(ctl get k --print-value-only)" v; ctl put "$RANDOM" x; }
			ctl put k v
			old=$(sum)
		EOF2
		cat
		echo "echo all of it"
	} >"$etc/person"
	run A "${options[@]}"
	person_is_done
}

regenerated() {
	container_run "" <<-'EOF2'
		gives 0 greenboot-etcd certs list
		# The monitor can read the certificates in its sandbox.
		systemctl start greenboot-etcd-monitor
		gives 0 grep "$PKI/old.crt has expired" /run/motd.d/greenboot-etcd
		gives 0 greenboot-etcd certs reset -n
		is "after a dry run" "$(sum)" "$old"
		gives 0 greenboot-etcd certs reset
		new=$(sum)
		isnt "after a reset" "$new" "$old"
		grows
		gives 0 greenboot-etcd certs reset --undo
		is "after an undo" "$(sum)" "$old"
		grows
		gives 0 greenboot-etcd certs reset --undo
		is "after another" "$(sum)" "$new"
		grows
		# The service is down because its certificates have expired.
		mv $PKI/old.crt $PKI/client.crt
		systemctl stop etcd
		gives 0 greenboot-etcd certs reset
		isnt "after it expired" "$(sum)" "$new"
		grows
	EOF2
	in_order "certs.*Certificates were changed|Certificates were changed" "all of it$"
}

# etcd is unreachable, the service does not start, or systemd gives up: the old certificates are put back.
comes_not_back() {
	container_run "" <<-'EOF2'
		touch /run/broken
		gives 1 greenboot-etcd --json certs reset --timeout=3s >/run/out
		jq -e '.put_back and .healthy and (.done | not)' /run/out
		is "no trust" "$(sum)" "$old"
		grows
		rm /run/broken
		touch /run/failing
		gives 1 greenboot-etcd certs reset --timeout=3s
		is "no start" "$(sum)" "$old"
		grows
		# The service fails so often that systemd gives up.
		for n in 1 2 3 4; do gives 1 greenboot-etcd certs reset --timeout=3s; done
		is "given up" "$(sum)" "$old"
		grows
		[[ $(ls /var/lib/greenboot-etcd/certs) == "" ]]
	EOF2
}

# The program is killed while the service is down: the service is started again, and a command puts the old
# certificates back.
killed() {
	container_run "" <<-'EOF2'
		for n in 1 2 3; do
			old=$(sum)
			greenboot-etcd certs reset &
			pid=$!
			until [[ ! -e $PKI/ca.crt ]]; do :; done
			kill -KILL $pid
			wait $pid || true
			for m in {1..100}; do ! ctl endpoint health || break; sleep 0.1; done
			grows
			gives 5 greenboot-etcd certs reset
			gives 0 greenboot-etcd certs reset --undo
			is "put back" "$(sum)" "$old"
			grows
		done
	EOF2
}

# asked DIR: prints etcd's answer over TLS to a client with the certificates in DIR.
asked() {
	curl -sS -m 5 --cacert "$1/ca.crt" --cert "$1/client.crt" --key "$1/client.key" "$ETCD_TLS/health"
}
# asks DIR: expects an answer, on a busy machine after a moment.
asks() {
	local try
	for try in 1 2 4 8; do
		[[ $(asked "$1" || true) != *'"true"'* ]] || return 0
		sleep "0.$try"
	done
	fail "etcd does not answer a client with $1"
}
# asks_nobody DIR: expects that these authorities do not verify etcd's certificate.
asks_nobody() {
	local rc=0
	asked "$1" || rc=$?
	assert_eq "what curl says" "$rc" 60
}
# certificates_are DIR: compares the certificates in the protected tree with DIR: bytes, owners and modes.
certificates_are() { assert_eq "the certificates" "$(tree_digest "$TLS")" "$(tree_digest "$1")"; }

# The update replaces the certificates with those of its own CA, and writes.
renewed() {
	holds "what the update finds" "$A_STATE"
	certificates_are "$GBE_MEM/of-a"
	asks "$GBE_MEM/of-a"
	stop_etcd
	rm -rf "$TLS"
	certificates "$TLS"
	rm -rf "$GBE_MEM/of-b"
	cp -a "$TLS" "$GBE_MEM/of-b"
	start_etcd "${ETCD_OPTIONS[@]}"
	asks "$GBE_MEM/of-b"
	asks_nobody "$GBE_MEM/of-a"
	b_writes
}

# Certificates in the protected tree, next to the data as with k3s, always match the data.
roll_back() {
	device "$1"
	DATA=$ROOT/var/lib/server/db/etcd
	TLS=$ROOT/var/lib/server/tls
	config etcd data-dir=/var/lib/server member-dir=db/etcd
	mkdir -p "$ROOT/var/lib/server/db"
	etcd_over_tls "$TLS"
	config etcd "endpoint=$ETCD_TLS" cacert=/var/lib/server/tls/ca.crt \
		cert=/var/lib/server/tls/client.crt key=/var/lib/server/tls/client.key
	chmod 600 "$TLS"/*.key
	rm -rf "$GBE_MEM/of-a"
	cp -a "$TLS" "$GBE_MEM/of-a"
	power_on
	started
	put_many base 10
	asks "$GBE_MEM/of-a"
	judge green
	assert_eq "health, over TLS" "$(json .health status)" healthy
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot
	booted B
	# Each attempt finds A's data and A's certificates.
	renewed
	fail_until_rollback renewed
	booted A
	holds "A's data" "$A_STATE"
	certificates_are "$GBE_MEM/of-a"
	asks "$GBE_MEM/of-a"
	asks_nobody "$GBE_MEM/of-b"
	judge green
	assert_eq "health of A" "$(json .health status)" healthy
	# The same by hand: the data and certificates of the update become a backup, and undo restores them.
	stop_etcd
	assert_exit 0 gbe restore --force "$(json '[.[] | select(.grade == "bad")][0].name' list)"
	certificates_are "$GBE_MEM/of-b"
	start_etcd "${ETCD_OPTIONS[@]}"
	asks "$GBE_MEM/of-b"
	asks_nobody "$GBE_MEM/of-a"
	assert_eq "owner" "$(get owner)" B
	stop_etcd
	assert_exit 0 gbe undo
	certificates_are "$GBE_MEM/of-a"
	start_etcd "${ETCD_OPTIONS[@]}"
	asks "$GBE_MEM/of-a"
	holds "undone" "$A_STATE"
}

suite_begin "$@"
run_case list list
run_case odd odd
run_case places places
run_case warned warned
run_case unset-clock unset_clock
run_case exported exported
for kind in $(kinds "xfs ext4"); do
	run_case "reset@$kind" reset "$kind"
	run_case "reset-cut@$kind" reset_cut "$kind"
done
for kind in $(kinds "xfs ext4"); do
	run_case "roll-back@$kind" roll_back "$kind"
done
run_case reset-refused reset_refused
run_case reset-fails reset_fails
if command -v systemd-nspawn >/dev/null; then
	run_case regenerated regenerated
	run_case comes-not-back comes_not_back
	run_case killed killed
	if [[ $ETCD_NEXT ]]; then
		run_case regenerated-next with "$ETCD_NEXT" regenerated
	fi
else
	echo "skip regenerated: systemd-nspawn is not installed (make deps)"
fi
suite_end
