#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The command and typing mistakes. Each mistake gives one line on stderr that names the object and the next step, and
# the right exit status. stdout is empty, and no file is changed.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

GBE=$(program greenboot-etcd)
VERBS=(status list show backup restore undo mark explain prune pin unpin delete config health preflight)

# Makes a file system without ostree and etcd.
plain_root() {
	root_new none
	umount -R "$ROOT" 2>/dev/null || true
	mkdir -p "$ROOT/var/lib" "$ROOT/etc/greenboot-etcd"
	etcd_ports
	config_write
}

root_digest() { (cd "$ROOT" && find . -printf '%p %y %m %s %T@ %l\n' | LC_ALL=C sort | sha256sum); }

# refused STATUS PATTERN ARG...: expects this exit status, one line, nothing on stdout, and no change.
refused() {
	local status=$1 pattern=$2 before
	shift 2
	before=$(root_digest)
	assert_exit "$status" "$GBE" --root="$ROOT" "$@"
	assert_eq "stdout of $*" "$OUT" ""
	assert_eq "lines on stderr of $*" "$(wc -l <"$GBE_MEM/err")" 1
	assert_match "stderr of $*" "$ERR" "greenboot-etcd: $pattern"
	assert_eq "the tree after $*" "$(root_digest)" "$before"
}

# ends COMMAND...: sets STATUS, OUT, ERR.
ends() {
	STATUS=0
	"$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err" || STATUS=$?
	OUT=$(<"$GBE_MEM/out")
	ERR=$(<"$GBE_MEM/err")
}

usage() {
	local verb

	plain_root
	refused 2 "no verb; see \`greenboot-etcd --help\`"
	refused 2 "*frobnicate; see \`greenboot-etcd --help\`" frobnicate
	refused 2 "*--frob; see \`greenboot-etcd --help\`" --frob
	for verb in "${VERBS[@]}"; do
		refused 2 "no such option of $verb: --frob; see \`greenboot-etcd $verb --help\`" "$verb" --frob
		refused 2 "no such option of $verb: -Z; see \`greenboot-etcd $verb --help\`" "$verb" -Z
	done
	for verb in status undo explain prune config health preflight list; do
		refused 2 "$verb takes no argument*" "$verb" extra
	done
	for verb in show pin unpin delete mark; do
		refused 2 "$verb needs *" "$verb"
	done
	refused 2 "show takes no more*" show a b
	refused 2 "*" mark good a b
	refused 2 "mark takes good or bad, not \"excellent\"*" mark excellent
	refused 2 "--quick goes with --full*" verify --quick
	refused 2 "*--root*" status --root
}

wrong_values() {
	plain_root
	refused 2 "--grade=fine: *good, unproven, bad or unreadable*" list --grade=fine
	refused 2 "--deployment=A: *" list --deployment=A
	refused 2 "--verdict=maybe: *" explain --verdict=maybe
	refused 2 "--return is*" explain --return=home
	refused 1 "no deployment 7*" explain --booted=7
	refused 1 "staged: no deployment has this place*" explain --booted=staged
	refused 2 "--wait: *" health --wait=soon
	refused 2 "restore needs*" restore
	refused 2 "restore takes only one of NAME|--last-good|--cancel*" restore name --last-good
	refused 2 "restore takes only one of NAME|--last-good|--cancel*" restore --cancel name
	refused 2 "--cancel can be combined with --dry-run only*" restore --cancel --stop
	refused 2 "--stop and --next-boot*" restore --stop --next-boot name
	refused 2 "--stop and --live*" backup --stop --live
	refused 2 "the description*" backup -d $'two\nlines'
	refused 2 "the description*" backup -d $'\xff'
	refused 2 "*" mark good --reason=$'\xff'
}

# Strings that cannot be names of backups, and names of missing backups.
names() {
	local name long

	plain_root
	long=$(printf 'x%.0s' {1..201})
	for name in a/b .. . ../x .hidden 'with blank' $'new\nline' $'\e[31m' Größe last-good undo \
		adopted-7 "$long" ''; do
		refused 2 "*" backup "$name"
	done
	refused 2 "*" backup -- -dash
	for name in a/b .. '' 'with blank'; do
		refused 2 "*" show "$name"
		refused 2 "*" restore "$name"
		refused 2 "*" delete "$name"
		refused 2 "*" pin "$name"
		refused 2 "*" mark bad "$name"
		refused 2 "*" restore --next-boot "$name"
	done
	refused 1 "no backup nobody in *" show nobody
	refused 1 "no backup nobody in *" delete -n nobody
	refused 1 "no backup nobody in *" restore -n nobody
	refused 1 "*no good backup*" restore -n --last-good
	refused 1 "*nothing to undo*" undo -n
	refused 1 "no etcd data in /var/lib/etcd*" backup -n
}

# Prints the headings of the help on stdin, or of a page.
headings() { grep -E '^[A-Z][^,]*:$' | sed 's/:$//' | grep -v '^This command$'; }
headings_of() { sed -n 's/^\.SS //p' "$GBE_TOP/data/man/$1.8"; }

help() {
	local verb option program

	plain_root
	assert_exit 0 "$GBE" --help
	assert_eq "stderr" "$ERR" ""
	for verb in "${VERBS[@]}"; do
		grep -qE "^  $verb( |$)" "$GBE_MEM/out" || fail "--help does not know $verb"
	done
	for verb in "${VERBS[@]}"; do
		assert_exit 0 "$GBE" "$verb" --help
		assert_match "help of $verb" "$OUT" "Usage: greenboot-etcd *$verb*"
		for option in --root --config --json --help; do
			assert_match "help of $verb" "$OUT" "*$option*"
		done
		assert_exit 0 "$GBE" --help "$verb"
		assert_match "help of $verb" "$OUT" "Usage: greenboot-etcd *$verb*"
		assert_match "example of $verb" "$OUT" "*Example:*  greenboot-etcd $verb*"
	done
	assert_exit 0 "$GBE" help restore
	assert_match "help restore" "$OUT" "Usage: greenboot-etcd *restore NAME*"
	for option in --version -V version; do
		assert_exit 0 "$GBE" "$option"
		assert_match "version" "$OUT" "greenboot-etcd [0-9]*.[0-9]*.[0-9]*"
	done
	# With --version a call is checked, but not done.
	assert_exit 0 "$GBE" --root=/nowhere alarm clear -n --version
	refused 2 "--dry-run does not go with alarm list*" alarm list -n --version
	refused 2 "restore takes no more than *" restore a b --version
	# Each verb of the base is once in the groups of the page. The verbs of an optional program are on its own
	# page.
	install_with "$GBE_MEM/base"
	assert_eq groups "$("$GBE_MEM/base/greenboot-etcd" help | headings)" "$(headings_of greenboot-etcd)"
	assert_exit 0 "$GBE" help
	for program in certs cluster store; do
		built "$program" || continue
		assert_eq "heading of $program" "$(headings <<<"$OUT" | grep -cxF "$(headings_of "greenboot-etcd-$program")")" 1
	done
}

# Options before or after the verb; aliases.
anywhere() {
	local before

	plain_root
	assert_exit 0 "$GBE" --root="$ROOT" --json status
	before=$(jq -c 'del(.etcd)' <<<"$OUT")
	assert_exit 0 "$GBE" status --json --root "$ROOT"
	assert_eq "status" "$(jq -c 'del(.etcd)' <<<"$OUT")" "$before"
	assert_exit 0 "$GBE" --json status --root="$ROOT"
	assert_exit 0 "$GBE" --root="$ROOT" --json ls
	assert_eq "ls" "$OUT" "[]"
	refused 2 "delete needs *" rm
	refused 1 "no etcd data*" save -n
	refused 1 "no etcd data*" create -n
}

configuration() {
	local conf

	plain_root
	conf=$ROOT/etc/greenboot-etcd/greenboot-etcd.conf
	assert_exit 0 "$GBE" --root="$ROOT" config --check
	assert_exit 0 "$GBE" --root="$ROOT" --json config
	assert_eq "origin" "$(jq -r '.settings[] | select(.key == "endpoint").origin' <<<"$OUT")" \
		"/etc/greenboot-etcd/greenboot-etcd.conf:2"
	# The output is a configuration with the same values.
	mkdir -p "$ROOT/var/lib/etcd" "$ROOT/usr/lib/systemd/system"
	printf '[Service]\nExecStart=/usr/bin/etcd\n' >"$ROOT/usr/lib/systemd/system/etcd.service"
	assert_exit 0 "$GBE" --root="$ROOT" config
	sed '/^#/d' <<<"$OUT" >"$GBE_MEM/first"
	cp "$GBE_MEM/first" "$conf"
	assert_exit 0 "$GBE" --root="$ROOT" config --check
	assert_exit 0 "$GBE" --root="$ROOT" config
	assert_eq "config of config" "$(sed '/^#/d' <<<"$OUT")" "$(<"$GBE_MEM/first")"

	config_write
	printf '[backup]\nkeep-bad=-3\n' >>"$conf"
	for verb in config status list log explain "verify --data" "alarm list"; do
		# shellcheck disable=SC2086
		ends "$GBE" --root="$ROOT" $verb
		((STATUS != 2)) || fail "$verb: exit status 2: $ERR"
		assert_match "$verb" "$ERR" \
			"greenboot-etcd: */greenboot-etcd.conf:*keep-bad: *rest of the configuration is used; run *config --check*"
	done
	for verb in backup "restore --last-good" undo "delete x" prune "pin x" "mark good" preflight; do
		# shellcheck disable=SC2086
		ends "$GBE" --root="$ROOT" $verb
		[[ $verb == preflight ]] || assert_eq "$verb" "$STATUS" 2
		assert_match "$verb" "$OUT$ERR" "*greenboot-etcd.conf:*keep-bad*"
	done
	# The named file must be valid for verbs that write, and readable for all verbs.
	assert_exit 0 "$GBE" --root="$ROOT" --config=/etc/greenboot-etcd/greenboot-etcd.conf list
	refused 2 "*keep-bad*" --config=/etc/greenboot-etcd/greenboot-etcd.conf prune
	config_write
	printf '[nonsense]\nx=1\n' >>"$conf"
	assert_exit 0 "$GBE" --root="$ROOT" config
	assert_match "config" "$OUT" "*# warning: *nonsense*"
	refused 2 "*nonsense*" config --check
	assert_exit 0 "$GBE" --root="$ROOT" status
	assert_exit 5 "$GBE" --root="$ROOT" preflight
	assert_match "preflight" "$OUT" "*bad *configuration*nonsense*"
	refused 2 "*/nowhere*" --config=/nowhere status
	refused 2 "*/nowhere*" --root="$ROOT/nowhere" status
}

# All errors of all files are reported at once, also settings that name a missing thing.
every_error() {
	local etc unit

	plain_root
	etc=$ROOT/etc/greenboot-etcd
	mkdir -p "$etc/greenboot-etcd.conf.d" "$ROOT/var/lib/etcd"
	printf '[health]\ntimeout=soon\n[bakcup]\nkeep-bad=1\n[restore]\ntrial-limit=1h\nnonsense\n' \
		>"$etc/greenboot-etcd.conf"
	printf '[backup]\nkeep-good=99\nkeep-gud=1\n[etcd\nname=x\n[etcd]\ncert=/etc/c\n' \
		>"$etc/greenboot-etcd.conf.d/x.conf"
	assert_exit 2 "$GBE" --root="$ROOT" config --check
	assert_eq "all of them" "$(sed -E 's/^greenboot-etcd: //; s,/etc/greenboot-etcd/,,g; s/^(.*conf:[0-9]+: (\[[a-z]+\] ?[a-z-]*)?).*/\1/' <<<"$ERR")" \
		"greenboot-etcd.conf:2: [health] timeout
greenboot-etcd.conf:3: [bakcup]
greenboot-etcd.conf:7: 
greenboot-etcd.conf.d/x.conf:2: [backup] keep-good
greenboot-etcd.conf.d/x.conf:3: [backup] keep-gud
greenboot-etcd.conf.d/x.conf:4: 
greenboot-etcd.conf.d/x.conf:7: [etcd] cert
the configuration has 7 errors; see greenboot-etcd.conf(5)"
	rm -r "$etc/greenboot-etcd.conf.d"

	unit=$ROOT/usr/lib/systemd/system/etcd.service
	mkdir -p "${unit%/*}"
	printf '[Service]\nEnvironmentFile=-/etc/etcd.conf\nExecStart=/usr/bin/etcd --name=a\n' >"$unit"
	check() { # LINE OF-THE-ERROR, or an empty text
		printf '[etcd]\n%s\n' "$1" >"$etc/greenboot-etcd.conf"
		ends "$GBE" --root="$ROOT" config --check
		assert_match "$1" "$STATUS $ERR" "$2"
	}
	check data-dir=/var/lib/ectd "0 *conf:2: [[]etcd[]] data-dir: there is no directory /var/lib/ectd"
	assert_eq stdout "$OUT" "the configuration has no errors"
	check data-dir=/var/lib/etcd "0 "
	check service=ectd.service "2 *conf:2: [[]etcd[]] service: there is no unit ectd.service*"
	check service=etcd.service "0 "
	# The unit has no address, so each port may be right.
	check endpoint=http://127.0.0.1:2389 "0 "
	echo 'ETCD_LISTEN_CLIENT_URLS=http://127.0.0.1:2379,unix:///run/e' >"$ROOT/etc/etcd.conf"
	check endpoint=http://127.0.0.1:2389 "0 "
	echo 'ETCD_LISTEN_CLIENT_URLS="http://127.0.0.1:2379, http://10.0.0.1:2379"' >"$ROOT/etc/etcd.conf"
	check endpoint=http://127.0.0.1:2389 "2 *conf:2: [[]etcd[]] endpoint: etcd.service listens for clients at http://127.0.0.1:2379, http://10*"
	check endpoint=http://localhost:2379 "0 "
	printf '[Service]\nExecStart=/usr/bin/etcd --name=a --listen-client-urls http://0.0.0.0:4001\n' >"$unit"
	check endpoint=http://127.0.0.1:2379 "2 *endpoint: etcd.service listens for clients at http://0.0.0.0:4001*"
	# One file may be written for another device.
	check service=ectd.service "2 *"
	assert_exit 0 "$GBE" --root="$ROOT" --config=/etc/greenboot-etcd/greenboot-etcd.conf config --check
}

# Only a missing program reads these keys: config names the package once for each section, and the other verbs say
# nothing.
unread() {
	local conf

	plain_root
	conf=$ROOT/etc/greenboot-etcd/greenboot-etcd.conf
	cat >>"$conf" <<-'CONF'
		[store]
		url=https://s3.example/backups
		schedule=hourly
		[certs]
		directories=/etc/pki
		regenerated=*
		validity=30d
		[cluster]
		update-lock=yes
	CONF
	install_with "$GBE_MEM/base"
	assert_exit 0 "$GBE_MEM/base/greenboot-etcd" --root="$ROOT" config --check
	assert_eq "stdout" "$OUT" "the configuration is right"
	assert_eq "stderr" "$ERR" "$(printf "greenboot-etcd: %s, which is not installed\n" \
		"[certs] validity: read by the package greenboot-etcd-certs" \
		"[cluster] update-lock: read by the package greenboot-etcd-cluster" \
		"[store] url, schedule: read by the package greenboot-etcd-store")"
	assert_exit 0 "$GBE_MEM/base/greenboot-etcd" --root="$ROOT" --quiet config --check
	assert_eq "quiet" "$ERR" ""
	assert_exit 0 "$GBE_MEM/base/greenboot-etcd" --root="$ROOT" --json config
	fits config
	assert_eq "warnings" "$(jq -r '.warnings[]' <<<"$OUT" | cut -d: -f1)" \
		$'[certs] validity\n[cluster] update-lock\n[store] url, schedule'
	# Without the program, a locked update is never released, and a member's data never copied back.
	assert_exit 0 "$GBE_MEM/base/greenboot-etcd" --root="$ROOT" --quiet config
	assert_eq "without the package" "$(grep -xE '(update-lock|rejoin)=.*' <<<"$OUT" | paste -sd' ')" "rejoin=no update-lock=no"
	# The members that the base also reads are not in the list, and the other verbs ignore them.
	assert_exit 0 "$GBE_MEM/base/greenboot-etcd" --root="$ROOT" list
	assert_eq "list" "$ERR" ""
	config_write
	printf '[store]\nkey=/etc/key\n[certs]\ndirectories=/etc/pki\n' >>"$conf"
	assert_exit 0 "$GBE_MEM/base/greenboot-etcd" --root="$ROOT" config --check
	assert_eq "the base's" "$ERR" ""
}

# With their programs, they are keys like any other.
read_by() {
	built certs cluster store || skip_case "optional: not all programs are built"
	plain_root
	printf '[store]\nschedule=hourly\n[certs]\nnames=etcd.example\n[cluster]\nlock-time=1h\n' \
		>>"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf"
	install_with "$GBE_MEM/some" certs store
	assert_exit 0 "$GBE_MEM/some/greenboot-etcd" --root="$ROOT" config --check
	assert_eq "without cluster" "$ERR" \
		"greenboot-etcd: [cluster] lock-time: read by the package greenboot-etcd-cluster, which is not installed"
	install_with "$GBE_MEM/some" cluster
	assert_exit 0 "$GBE_MEM/some/greenboot-etcd" --root="$ROOT" config --check
	assert_eq "with all" "$ERR" ""
}

# /dev/full accepts nothing, so the command fails.
output() {
	local verb status

	plain_root
	for verb in status list explain config "config --json" --help --version; do
		status=0
		# shellcheck disable=SC2086
		"$GBE" --root="$ROOT" $verb >/dev/full 2>"$GBE_MEM/err" || status=$?
		assert_eq "$verb >/dev/full" "$status" 1
		assert_match "stderr" "$(<"$GBE_MEM/err")" "greenboot-etcd: the output could not be*"
		status=0
	done
}

# Finished work counts as success without a reader: after "nothing was changed" a script would repeat it.
silent() {
	local verb status

	a_green xfs
	stop_etcd
	for verb in "backup one" "--json backup two" "pin one" "mark bad two" "delete two" "restore one" undo; do
		status=0
		# shellcheck disable=SC2086
		"$GBE" --root="$ROOT" $verb >/dev/full 2>"$GBE_MEM/err" || status=$?
		assert_eq "$verb >/dev/full" "$status" 0
		assert_match "stderr" "$(<"$GBE_MEM/err")" "*is done; the output could not be*"
	done
	assert_eq "backups" "$(json 'map(.name) | contains(["one"])' list)" true
	# Without a reader, the command also does not end by a signal.
	for verb in "backup three" "restore one"; do
		status=0
		# shellcheck disable=SC2086
		python3 -c 'import os, subprocess, sys
r, w = os.pipe()
os.close(r)
sys.exit(subprocess.run(sys.argv[1:], stdout=w, stderr=subprocess.DEVNULL).returncode & 255)' \
			"$GBE" --root="$ROOT" $verb || status=$?
		assert_eq "$verb into a closed pipe" "$status" 0
	done
	assert_eq "last" "$(json .last_operation.operation status)" restore
	# A verb that only reads, and a dry run, have no result except their output.
	for verb in "backup four -n" "restore one -n"; do
		status=0
		# shellcheck disable=SC2086
		"$GBE" --root="$ROOT" $verb >/dev/full 2>/dev/null || status=$?
		assert_eq "$verb >/dev/full" "$status" 1
	done
}

# Directories of a wrong kind.
foreign() {
	plain_root
	mkdir "$ROOT/elsewhere"
	ln -s ../../elsewhere "$ROOT/var/lib/etcd"
	refused 5 "*/var/lib/etcd is a symlink*" backup -n
	assert_exit 0 "$GBE" --root="$ROOT" status
	assert_match "status" "$OUT" "Not protected:*the data in /var/lib/etcd cannot be read:*is a symlink*"
	rm "$ROOT/var/lib/etcd"
	echo text >"$ROOT/var/lib/etcd"
	refused 5 "*/var/lib/etcd is no directory*" backup -n
	rm "$ROOT/var/lib/etcd"
	mkdir -p "$ROOT/var/lib/etcd/member/snap"
	echo db >"$ROOT/var/lib/etcd/member/snap/db"
	chmod 0777 "$ROOT/var/lib"
	refused 5 "*/var/lib*" backup -n
	chmod 0755 "$ROOT/var/lib"
	# The state directory is a file.
	echo text >"$ROOT/var/lib/greenboot-etcd"
	refused 1 "*/var/lib/greenboot-etcd*" status
	refused 1 "*/var/lib/greenboot-etcd*" backup
}

# A user who can replace DIR, or a directory above it, could redirect the command to another system.
root_of_others() {
	local theirs=$GBE_MEM/theirs way

	plain_root
	mkdir -p "$theirs/image" && cp -a "$ROOT/." "$theirs/image"
	ROOT=$theirs/image
	assert_exit 0 "$GBE" --root="$ROOT" config
	for way in "$theirs" "$ROOT"; do
		chown 65534 "$way"
		refused 5 '--root: "*" on the way to *belongs to user 65534*' config
		chown 0 "$way"
		chmod 0775 "$way"
		refused 5 '--root: "*" on the way to *can be written by others*' backup
		chmod 0755 "$way"
	done
	cd "$theirs" && ln -s image link && chown -h 65534 link
	assert_exit 5 "$GBE" --root=link config
	assert_exit 0 "$GBE" --root=image config
}

# Verbs that read leave no trace. On a new device they do not make a state directory.
looking() {
	local before verb

	plain_root
	before=$(root_digest)
	for verb in status list explain config health preflight "backup -n" "prune -n" "undo -n" \
		"restore -n --last-good" "restore --cancel -n"; do
		# shellcheck disable=SC2086
		"$GBE" --root="$ROOT" $verb >/dev/null 2>&1 || true
		assert_eq "the tree after $verb" "$(root_digest)" "$before"
	done
}

# Every file that the command opens, makes, renames or removes with --root lies below the root.
stays_inside() {
	local verb way ways='[^/]'

	plain_root
	way=$ROOT
	# The path to each file is also checked.
	while way=${way%/*} && [[ $way ]]; do
		ways+="|$way\$"
	done
	mkdir -p "$ROOT/var/lib/etcd/member/snap" "$ROOT/var/lib/etcd/member/wal"
	head -c 65536 /dev/zero >"$ROOT/var/lib/etcd/member/snap/db"
	for verb in status "backup one" list "show one" "pin one" "restore one" undo explain prune preflight \
		"delete --force one"; do
		# shellcheck disable=SC2086
		strace -f -y -o "$GBE_MEM/trace" -e trace=%file,%desc,%network \
			"$GBE" --root="$ROOT" $verb >/dev/null 2>&1 || true
		# Prints the files opened outside of ROOT, except those of the loader and of the process.
		grep -E '(open|openat|openat2)\(.* = [0-9]+<' "$GBE_MEM/trace" |
			sed 's/.* = [0-9]*<\([^>]*\)>.*/\1/' | sort -u |
			grep -vE "^($ways|$ROOT(/|$)|$BUILD/|/usr/lib/|/lib/|/lib64/|/etc/ld\.so|/proc/self/|/proc/[0-9]+/|/usr/share/(locale|zoneinfo)|/etc/localtime|/dev/|/etc/ssl/openssl.cnf|/usr/lib/ssl|/etc/gnutls|/proc/(filesystems|sys/kernel/osrelease|cpuinfo|sys/crypto)|/sys/devices/system/cpu|/$|pipe:|anon_inode|socket:)" \
			>"$GBE_MEM/outside" || true
		assert_eq "opened outside by $verb" "$(<"$GBE_MEM/outside")" ""
		grep -E ' (mkdir|unlink|rename|symlink|link|chmod|chown|truncate)[a-z0-9]*\(' "$GBE_MEM/trace" |
			grep -v ' = -1' | grep -v "$ROOT" >"$GBE_MEM/outside" || true
		assert_eq "changed outside by $verb" "$(<"$GBE_MEM/outside")" ""
		grep -E 'connect\(' "$GBE_MEM/trace" | grep -vE '127\.0\.0\.1|AF_UNSPEC' >"$GBE_MEM/outside" || true
		assert_eq "talked to by $verb" "$(<"$GBE_MEM/outside")" ""
	done
}

suite_begin "$@"
run_case cli-usage usage
run_case cli-wrong-values wrong_values
run_case cli-names names
run_case cli-help help
run_case cli-options-anywhere anywhere
run_case cli-configuration configuration
run_case cli-every-error every_error
run_case cli-keys-unread unread
run_case cli-keys-read read_by
run_case cli-output-full output
run_case cli-silent silent
run_case cli-foreign-directories foreign
run_case cli-root-of-others root_of_others
run_case cli-looking-changes-nothing looking
run_case cli-root-is-never-left stays_inside
suite_end
