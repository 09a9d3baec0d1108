#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The owner of the data directory is not root (etcd runs as another user), and is hostile. The attacks: symlinks,
# FIFOs, hard links, extreme names and sizes, forged records, and a process that replaces names all the time. The
# program does not write, read or disclose anything outside of the tree. No program hangs, and no use of memory or
# disk grows without a limit.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

NOBODY=65534
STAMP=.greenboot-etcd-owner
store() { echo "$ROOT/var/lib/greenboot-etcd/backups"; }

# device_of_nobody KIND: A is green, etcd is stopped, and the unprivileged user of the attack owns the data. OUTSIDE
# belongs to root.
device_of_nobody() {
	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	outside
	chown -R "$NOBODY:$NOBODY" "$DATA"
	chmod 0711 "$GBE_SCRATCH"
}

outside() {
	OUTSIDE=$ROOT/var/outside
	SECRET=secret-$RANDOM$RANDOM$RANDOM
	mkdir -p "$OUTSIDE/.partial-x/data" "$OUTSIDE/dir"
	echo "$SECRET" | tee "$OUTSIDE/secret" "$OUTSIDE/.partial-x/data/file" >"$OUTSIDE/dir/file"
	chmod 0600 "$OUTSIDE/secret"
	chmod 4755 "$OUTSIDE/dir/file"
	OUTSIDE_WAS=$(outside_now)
}

# The times of the directories show that no entry came or went, not even for a moment.
outside_now() {
	(cd "$OUTSIDE" && find . -printf '%P|%y|%s|%m|%U|%G|%T@|%n\n' | sort &&
		find . -type f -exec sha256sum {} + | sort) | sha256sum
}

# nothing_outside: checks that OUTSIDE is unchanged, and that no backup and no output contains anything of it.
nothing_outside() {
	assert_eq "what is outside" "$(outside_now)" "$OUTSIDE_WAS"
	! grep -r -q -- "$SECRET" "$(store)" "$ROOT/run/greenboot-etcd" \
		"$ROOT/var/lib/greenboot-etcd" "$DATA" || fail "the secret got out"
}

nobody() { setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$@"; }

# in_time COMMAND...: expects an answer within 20 s.
in_time() {
	local rc=0 began=$SECONDS
	"$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err" || rc=$?
	OUT=$(tr -d '\0' <"$GBE_MEM/out")
	ERR=$(tr -d '\0' <"$GBE_MEM/err")
	((rc != 124 && rc < 128)) || fail "$*: status $rc: $ERR"
	((SECONDS - began <= 20)) || fail "$*: $((SECONDS - began)) s"
}

start_in_time() { in_time hook prerun; }

# ---- records ----

# The nonce, and the name under which a new nonce is written, are of another file type.
attack_stamp() {
	local what name

	device_of_nobody "$1"
	chown root:root "$DATA/$STAMP"
	for name in "$STAMP" ".gbe-tmp.$STAMP"; do
		for what in link fifo directory huge hard garbage; do
			rm -rf "${DATA:?}/$name"
			MASKED=yes boot A
			case $what in
			link) nobody ln -s "$OUTSIDE/secret" "$DATA/$name" ;;
			fifo) nobody mkfifo "$DATA/$name" ;;
			directory)
				nobody mkdir "$DATA/$name"
				nobody ln -s "$OUTSIDE" "$DATA/$name/way"
				;;
			huge) nobody truncate -s 100G "$DATA/$name" ;;
			hard) ln "$OUTSIDE/secret" "$DATA/$name" ;;
			garbage) head -c 4000 /dev/urandom | nobody tee "$DATA/$name" >/dev/null ;;
			esac
			[[ $what != hard ]] || OUTSIDE_WAS=$(outside_now)
			start_in_time
			assert_eq "$name as $what: nonce" "$(jq -r .nonce "$DATA/$STAMP")" \
				"$(ledger '[.[] | select(.kind == "take-over")][-1].nonce')"
			assert_eq "$name as $what: type" "$(stat -c %F:%u:%a "$DATA/$STAMP")" \
				"regular file:0:600"
			[[ $what != hard ]] || OUTSIDE_WAS=$(outside_now)
			nothing_outside
		done
	done
	assert_eq "secret" "$(<"$OUTSIDE/secret")" "$SECRET"
	assert_eq "secret" "$(stat -c %a:%u:%h "$OUTSIDE/secret")" 600:0:1
	power_on
	a_is_back
}

# The ledger decides: a nonce that root has not written has no effect, whatever its content.
attack_forged() {
	local forged

	device_of_nobody "$1"
	for forged in '.ledger = "0000000000000000"' '.sequence = 1' '.sequence = 9007199254740991' \
		'.sequence = 9223372036854775807' '.nonce = "\u001b]0;x\u0007"' '.summary = 1' \
		'.ancestors = [range(200000)]'; do
		MASKED=yes boot A
		cp "$DATA/$STAMP" "$GBE_MEM/stamp"
		nobody rm -f "$DATA/$STAMP"
		jq "$forged" "$GBE_MEM/stamp" | nobody tee "$DATA/$STAMP" >/dev/null
		start_in_time
		nothing_outside
		harmless_text "$ERR"
		assert_match "$forged" "$ERR" "*rule 6*"
	done
	power_on
	a_is_back
	judge green
	into_b
	b_writes
	fails_back
}

# If the data directory is a mount point, the program's directory lies in a directory of another user.
attack_hidden() {
	local digest

	device "$1"
	fs_at "$1" "$DATA"
	chmod 0700 "$DATA"
	power_on
	put_many base 10
	judge green
	A_STATE=$(etcd_state)
	shutdown
	outside
	chown "$NOBODY:$NOBODY" "$DATA"
	chmod 0711 "$GBE_SCRATCH"
	assert_eq "the store" "$(stat -c %u:%a "$DATA/.greenboot-etcd/backups")" 0:700
	rename_away() { nobody mv "$DATA/.greenboot-etcd" "$DATA/mine.$RANDOM"; }
	rename_away
	nobody ln -s "$OUTSIDE" "$DATA/.greenboot-etcd"
	mkdir -p "$OUTSIDE/backups/.partial-x"
	OUTSIDE_WAS=$(outside_now)
	digest=$(tree_digest "$DATA/member")
	finds_hidden "$digest"
	rename_away
	nobody mkdir "$DATA/.greenboot-etcd"
	nobody ln -s "$OUTSIDE/backups" "$DATA/.greenboot-etcd/backups"
	finds_hidden "$digest"
	rm -rf "$DATA"/mine.*
	power_on
	a_is_back
}

# The program finds root's directory under its other name, and uses nothing else.
finds_hidden() {
	MASKED=yes boot A
	start_in_time
	assert_eq "the store" "$(stat -c %u:%a "$DATA/.greenboot-etcd/backups")" 0:700
	in_time gbe prune
	assert_eq "the data" "$(tree_digest "$DATA/member")" "$1"
	nothing_outside
}

# ---- entries that are not files ----

attack_fifo() {
	local name wal

	device_of_nobody "$1"
	config etcd version-file=version
	wal=$(cd "$DATA" && find member/wal -name '*.wal' | head -n 1)
	cp -a "$DATA" "$GBE_MEM/data"
	for name in member/snap/db "$wal" member/snap/00000000000000ff-00000000000000ff.snap \
		version member/wal member/snap member; do
		find "$DATA" -mindepth 1 -delete
		cp -a "$GBE_MEM/data/." "$DATA/"
		rm -rf "${DATA:?}/$name"
		nobody mkfifo "$DATA/$name"
		MASKED=yes boot A
		start_in_time
		in_time gbe backup "with-fifo"
		in_time gbe status
		in_time gbe explain
		in_time gbe preflight
		assert_eq "backups with $name" "$(find "$(store)" -name with-fifo)" ""
		assert_eq "$name" "$(stat -c %F "$DATA/$name")" fifo
	done
	find "$DATA" -mindepth 1 -delete
	cp -a "$GBE_MEM/data/." "$DATA/"
	rm -rf "$GBE_MEM/data"
	power_on
	a_is_back
}

# Hard links to other users' files (if the kernel does not protect them) are copied, and never changed.
attack_hardlink() {
	device_of_nobody "$1"
	ln "$OUTSIDE/dir/file" "$DATA/member/file"
	ln "$OUTSIDE/secret" "$DATA/member/secret"
	OUTSIDE_WAS=$(outside_now)
	into_b_and_back
	in_time gbe backup linked
	in_time gbe restore linked
	in_time gbe undo
	in_time gbe delete linked --force
	in_time gbe prune
	rm -f "$DATA/member/file" "$DATA/member/secret"
	assert_eq "content" "$(cat "$OUTSIDE/secret" "$OUTSIDE/dir/file" | uniq)" "$SECRET"
	assert_eq "secret" "$(stat -c %a:%u "$OUTSIDE/secret")" 600:0
	assert_eq "file" "$(stat -c %a:%u "$OUTSIDE/dir/file")" 4755:0
}

into_b_and_back() {
	start_etcd
	put last "word of A"
	into_b
	b_writes
	fails_back
	stop_etcd
}

# ---- names and sizes ----

# harmless_text TEXT: expects no control character except the end of a line, as bytes or as UTF-8. Characters that
# turn the direction of text also count.
harmless_text() {
	local bytes
	bytes=$(printf '%s' "$1" | LC_ALL=C grep -a -c -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]' || true)
	assert_eq "lines with control characters" "$bytes" 0
	printf '%s' "$1" | iconv -f UTF-8 -t UTF-8 >/dev/null || fail "not UTF-8: $1"
}

attack_names() {
	local name file evil=($'esc\e]0;owned\a\e[2J' $'line\n<0>greenboot-etcd: all is well' \
		$'c1\xc2\x9b31m\xc2\x85' $'bidi\xe2\x80\xaetxt\xd8\x9c' $'broken\xff\xfe\xc3' $'del\x7f\b\b\b')

	device_of_nobody "$1"
	for name in "${evil[@]}"; do
		echo text | nobody tee "$DATA/member/$name" >/dev/null
	done
	in_time gbe backup named
	assert_exists "$(store)/named/manifest.json"
	for name in "${evil[@]}"; do
		cmp "$(store)/named/data/member/$name" "$DATA/member/$name"
	done
	says_harmless
	# A refused entry is named.
	for name in "${evil[@]}"; do
		rm "$DATA/member/$name"
		nobody mkfifo "$DATA/member/$name"
		in_time gbe backup named-too
		assert_match "stderr" "$ERR" "*FIFO*"
		harmless_text "$ERR"
		assert_eq "lines" "$(wc -l <"$GBE_MEM/err")" 1
		MASKED=yes boot A
		update B
		shutdown
		machine_on
		harmless_text "$(<"$PRERUN_LOG")"
		says_harmless
		rm "$DATA/member/$name"
		undeploy B
		echo text | nobody tee "$DATA/member/$name" >/dev/null
	done
	# Two directories have a member/.
	mkdir -p "$DATA/${evil[0]}/member" "$DATA/${evil[1]}/member"
	mv "$DATA/member" "$DATA/away"
	start_in_time
	assert_match "stderr" "$ERR" "*both*"
	harmless_text "$ERR"
	says_harmless
}

says_harmless() {
	local verb file

	for verb in status list "show named" explain preflight "restore named -n" "prune -n"; do
		# shellcheck disable=SC2086
		in_time gbe $verb
		harmless_text "$OUT$ERR"
		# shellcheck disable=SC2086
		in_time gbe --json $verb
		harmless_text "$OUT$ERR"
	done
	for file in "$ROOT/run/motd.d/greenboot-etcd" "$ROOT/run/greenboot-etcd/status.json" \
		"$ROOT/run/greenboot-etcd/prerun-done"; do
		[[ ! -e $file ]] || harmless_text "$(<"$file")"
	done
}

# More entries than a tree may have are refused by name, in limited memory. A start continues.
attack_huge() {
	local n long at
	long=$(printf 'n%.0s' {1..240})

	device_of_nobody "$1"
	mkdir "$DATA/member/huge"
	(cd "$DATA/member/huge" && seq -f "$long%07.0f" 1 140000 | xargs -n 2000 touch)
	bounded gbe backup huge
	assert_match "stderr" "$ERR" "*member/huge*"
	bounded hook prerun
	bounded gbe status
	find "$DATA/member/huge" -delete
	at=$DATA/member
	for n in {1..80}; do
		at+=/deep
		mkdir "$at"
	done
	bounded gbe backup deep
	assert_match "stderr" "$ERR" "*deep*deeper*"
	bounded hook prerun
	rm -rf "$DATA/member/deep"
	power_on
	a_is_back
}

# The address space limits the memory, except under a sanitizer, whose shadow needs much of it.
bounded() {
	if [[ ${SANITIZERS-} ]]; then
		in_time "$@"
	else
		in_time bounded_run "$@"
	fi
}
bounded_run() { (ulimit -v 300000 && "$@"); }

# A failed update's etcd user may leave any files. The old system gets its data back by a rename.
attack_deformed() {
	local what

	a_green "$1"
	chmod 0711 "$GBE_SCRATCH"
	chown "$NOBODY:$NOBODY" "$DATA"
	for what in "rm -r member; ln -s / member" "mv member/wal w; touch member/wal" "rm member/snap/db; mkfifo member/snap/db" \
		"rm -r member/snap; ln -s /etc member/snap" "mkdir -p a b; mv member a/; cp -r a/member b/"; do
		put last "word of A"
		A_STATE=$(etcd_state)
		into_b
		b_writes
		judge red
		shutdown
		chown -R "$NOBODY:$NOBODY" "$DATA"
		(cd "$DATA" && nobody sh -ec "$what")
		MASKED=yes machine_on
		booted B
		in_time gbe explain --booted=A
		make_default A
		power_on
		a_is_back
	done
	# A person may restore over this with --force. The program does not.
	stop_etcd
	gbe backup mine
	(cd "$DATA" && rm member/snap/db && mkfifo member/snap/db)
	assert_exit 5 gbe restore mine
	assert_match "stderr" "$ERR" "*not a regular file*--force*"
	assert_exit 0 gbe restore mine --force
	start_etcd
	holds "the data" "$A_STATE"
	# prerun has to read the data for an update.
	update B
	shutdown
	(cd "$DATA" && rm member/snap/db && mkfifo member/snap/db)
	machine_on
	booted B
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*not a regular file*restore * --stop --force*systemctl start*"
}

# into_red: B has failed, and the machine is off. The unprivileged user owns the data.
into_red() {
	chmod 0711 "$GBE_SCRATCH"
	into_b
	b_writes
	judge red
	shutdown
	chown "$NOBODY:$NOBODY" "$DATA"
	chown -R "$NOBODY:$NOBODY" "$DATA/member"
}

# The owner of a subvolume may make it read-only, and a read-only subvolume cannot be moved into the store.
attack_readonly() {
	a_green "$1"
	into_red
	nobody btrfs property set -ts "$DATA" ro true
	make_default A
	power_on
	a_is_back
	judge green
	reboot
	a_is_back
}

# The owner of a directory may give it another project, so that files of this project cannot be moved into it.
attack_project() {
	device "$1"
	fs_at "$1" "$DATA"
	power_on
	put_many base 10
	judge green
	into_red
	rm "$DATA/$STAMP"
	nobody xfs_io -c 'chproj 77' -c 'chattr +P' "$DATA"
	make_default A
	power_on
	a_is_back
}

# ---- races ----

# A process of the unprivileged user replaces names while root copies, restores, sets aside and removes.
race() {
	"$BUILD/tests/integration/racer" "$NOBODY" "$DATA/member/snap" "$OUTSIDE" &
	RACER=$!
}
race_over() {
	kill -0 "$RACER" || fail "the racer is gone"
	kill -KILL "$RACER"
	wait "$RACER" || true
}
attack_race() {
	local n good=0 began=$SECONDS

	device_of_nobody "$1"
	cp -a "$DATA" "$GBE_MEM/data"
	chmod 0755 "$OUTSIDE"
	OUTSIDE_WAS=$(outside_now)
	race
	# The race runs for 5 s. On a busy machine one side wins for longer, so it runs until each side has won.
	for ((n = 0; n < 400 && SECONDS - began < (good > 0 && good < n ? 5 : 120); n++)); do
		in_time gbe backup "race$n"
		[[ ! -e $(store)/race$n ]] || good=$((good + 1))
		if ((n % 10 == 9)); then
			start_in_time
			in_time gbe restore "race$((n - 5))"
			in_time gbe undo
			in_time gbe delete "race$n" --force
			in_time gbe prune
			# The link moved with the displaced data. Now it is in the new directory.
			race_over
			race
		fi
	done
	race_over
	echo "$n backups tried, $good taken"
	((good > 0)) || fail "no backup of $n succeeded"
	((good < n)) || fail "all $n backups succeeded: was there a race?"
	nothing_outside
	find "$DATA" -mindepth 1 -delete
	cp -a "$GBE_MEM/data/." "$DATA/"
	rm -rf "$GBE_MEM/data"
	rm -f "$DATA/$STAMP"
	power_on
	holds "the data" "$A_STATE"
}

# ---- over etcd's API ----

# liar FROM TO: a proxy at the configured endpoint passes on etcd's answers, and replaces the bytes FROM by TO of the
# same length.
liar() {
	local port=$ETCD_PORT

	rm -f "$GBE_MEM/liar"

	python3 - "$port" "$1" "$2" >"$GBE_MEM/liar" <<-'EOF' &
		import socket, sys, threading
		port, old, new = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3].encode()
		server = socket.create_server(("127.0.0.1", 0))
		print(server.getsockname()[1], flush=True)
		def relay(a, b, change):
		    while data := a.recv(65536):
		        b.sendall(data.replace(old, new) if change else data)
		    b.shutdown(socket.SHUT_WR)
		while True:
		    client = server.accept()[0]
		    etcd = socket.create_connection(("127.0.0.1", port))
		    threading.Thread(target=relay, args=(client, etcd, False), daemon=True).start()
		    threading.Thread(target=relay, args=(etcd, client, True), daemon=True).start()
	EOF
	LIAR=$!
	while [[ ! -s $GBE_MEM/liar ]]; do sleep 0.05; done
	config etcd "endpoint=http://127.0.0.1:$(<"$GBE_MEM/liar")"
}
truth() {
	kill "$LIAR"
	wait "$LIAR" || true
	config etcd "endpoint=http://127.0.0.1:$ETCD_PORT"
}

# One answer with a version that cannot read the data does not hold etcd back at a later boot. Neither does a newer
# version.
attack_version() {
	local version

	a_green "$1"
	for version in 3.0.23 9.4.23; do
		liar 3.4.23 "$version"
		hook health
		assert_eq "what the liar said" "$(ledger '[.[].etcd_version | values] | last')" "$version"
		truth
		A_STATE=$(etcd_state)
		reboot
		booted A
		started
		holds "A's data, after a liar said $version" "$A_STATE"
		judge green
	done
	into_b
	liar 3.4.23 3.0.23
	fail_until_rollback put owner B
	truth
	a_is_back
	# Below --root, a person's command runs no program of that root.
	stop_etcd
	printf '#!/bin/sh\ntouch %s\n' "$GBE_MEM/ran" >"$ROOT/usr/bin/etcd"
	gbe backup mine
	gbe explain >/dev/null
	gbe restore mine
	assert_missing "$GBE_MEM/ran"
}

# Any client of the update's etcd can add members. The old system's data is restored anyway.
attack_members() {
	a_green "$1"
	A_STATE=$(etcd_state)
	into_b
	put owner B
	etcdctl --endpoints="http://$ETCD_HOST:$ETCD_PORT" member add other --peer-urls=http://127.0.0.1:1
	kill_etcd # it has no majority now
	judge red
	until [[ $BOOTED == A ]]; do
		crash
		machine_on
		[[ $BOOTED == A ]] || judge red
	done
	start_etcd
	a_is_back
}

suite_begin "$@"
FS=${FS:-xfs} play attack version members
FS=${FS:-xfs} play attack stamp forged fifo names huge deformed
FS=${FS:-ext4} play attack hidden hardlink
FS=${FS:-xfs} play attack project
FS=${FS:-btrfs-subvol} play attack readonly
FS=$(kinds "xfs ext4" btrfs-subvol) play attack race
suite_end
