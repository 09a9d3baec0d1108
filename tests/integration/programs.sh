#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# How the command finds store, certs and cluster: after `make install`, and with programs that are missing, of another
# version, broken, or foreign.

# shellcheck disable=SC2317,SC2016 # cases are called by name; the dollars are a script's
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

# a_copy [PROGRAM...]: copies the installation, with these optional programs only. ROOT is an empty directory.
a_copy() {
	local name keep=" $* "

	installed
	TREE=$GBE_MEM/tree.$BASHPID
	rm -rf "$TREE"
	cp -a "$INSTALLED" "$TREE"
	GBE=$TREE/usr/local/bin/greenboot-etcd LIBEXEC=$TREE/usr/local/libexec/greenboot-etcd
	VERSION=$("$GBE" --version | cut -d' ' -f2)
	for name in store certs cluster; do
		[[ $keep == *" $name "* ]] || rm -f "$LIBEXEC/greenboot-etcd-$name"
	done
	[[ $keep == *" cluster "* ]] || rm -f "$LIBEXEC/greenboot-etcd-member"
	ROOT=$GBE_MEM/empty.$BASHPID MARK=$GBE_MEM/mark
	mkdir -p "$ROOT/var"
	rm -f "$MARK"
}

cmd() { "$GBE" --root="$ROOT" "$@"; }

# refused PATTERN ARG...: expects status 2, one line on stderr, nothing on stdout, and with --json an object with the
# same text.
refused() {
	local pattern=$1 line
	shift
	assert_exit 2 cmd "$@"
	assert_match "stderr of $*" "$ERR" "greenboot-etcd: $pattern; see *"
	assert_eq "lines on stderr of $*" "$(wc -l <"$GBE_MEM/err")" 1
	assert_eq "stdout of $*" "$OUT" ""
	line=$ERR
	assert_exit 2 cmd --json "$@"
	assert_eq "stderr of --json $*" "$ERR" "$line"
	fits error
	assert_eq "the error of --json $*" "$(of '"greenboot-etcd: \(.error.message); \(.error.hint)|\(.error.code)"')" "$line|2"
}

# script PATH LINE...: writes a script that counts as a program of this version.
script() {
	local path=$1
	shift
	mkdir -p "${path%/*}"
	{
		printf '%s\n' '#!/bin/bash' "$@" exit
		printf 'libgreenboot-etcd-%s.so\0' "$VERSION"
	} >"$path"
	chmod 0755 "$path"
}
hostile() { script "$1" ": >'$MARK'"; } # PATH
not_started() { assert_missing "$MARK"; }

# The packages are missing; and a symlink leads to a program that is gone.
missing() {
	local verb package

	a_copy
	ln -s greenboot-etcd-cluster "$LIBEXEC/greenboot-etcd-member"
	while read -r verb package; do
		for words in "$verb" "$verb list" "$verb --help" "help $verb" "-q $verb status" "$verb --version"; do
			# shellcheck disable=SC2086 # words
			refused "$verb is a verb of the package $package, which is not installed" $words
		done
	done <<-'LIST'
		store greenboot-etcd-store
		cluster greenboot-etcd-cluster
		member greenboot-etcd-cluster
	LIST
	refused 'certs takes list or reset or export, not "init"; more is in the package greenboot-etcd-certs, which is not installed' \
		certs init
}

# another_version PROGRAM: gives the program another version, by the name of the library that it is linked with.
another_version() {
	OTHER=${VERSION%?}$(((${VERSION: -1} + 1) % 10))
	sed -i "s/libgreenboot-etcd-${VERSION//./\\.}\.so/libgreenboot-etcd-$OTHER.so/" "$LIBEXEC/greenboot-etcd-$1"
	readelf -d "$LIBEXEC/greenboot-etcd-$1" | grep -qF "[libgreenboot-etcd-$OTHER.so]" || fail "not patched"
}

versions() {
	local name path said

	a_copy store certs cluster
	for name in store certs cluster; do
		another_version "$name"
		path=$LIBEXEC/greenboot-etcd-$name
		said="$path is of version $OTHER, and greenboot-etcd is of version $VERSION: install both in one version"
		for words in "$name list" "$name --help" "help $name"; do
			# shellcheck disable=SC2086 # words
			refused "$said" $words
		done
		strace -f -e trace=execve -o "$GBE_MEM/started" "$GBE" --root="$ROOT" "$name" list >&2 && fail "$name list went well"
		assert_eq "started for $name" "$(grep -c execve "$GBE_MEM/started")" 1
	done
	refused "$LIBEXEC/greenboot-etcd-member is of version $OTHER, and *" member list
	# The base works, and help says why it does not list the verbs.
	assert_exit 0 cmd list
	assert_exit 0 cmd help
	assert_eq "lines on stderr of help" "$(grep -c "is of version $OTHER" <<<"$ERR")" 3
	assert_eq "verbs" "$(verbs)" "$(verbs_of | sed 's/ certs / /')"
}

# Files at the path of a program that are not programs.
no_program() {
	local path words

	a_copy
	path=$LIBEXEC/greenboot-etcd-store
	not_a_program() { # PATTERN
		refused "$1" store list
		refused "$1" help store
		not_started
		assert_exit 0 cmd help
		assert_match "stderr of help" "$ERR" "greenboot-etcd: $1"
		rm -rf "$path"
	}
	hostile "$path"
	chmod 0644 "$path"
	refused "cannot start $path: Permission denied" store list
	not_started
	rm "$path"
	printf '#!/bin/sh\n: >%s\n' "$MARK" >"$path"
	chmod 0755 "$path"
	not_a_program "$path is not a program of greenboot-etcd"
	cp /bin/true "$path"
	not_a_program "$path is not a program of greenboot-etcd"
	: >"$path"
	chmod 0755 "$path"
	not_a_program "$path is not a program of greenboot-etcd"
	# These bytes must not reach a terminal or the JSON.
	printf 'libgreenboot-etcd-\377\n\033[31m%0100d.so' 0 >"$path"
	assert_exit 2 cmd --json store list
	fits error
	assert_eq "control characters" "$(grep -ac $'\033' "$GBE_MEM/err" "$GBE_MEM/out" | cut -d: -f2 | paste -sd' ')" "0 0"
	assert_eq "lines on stderr" "$(wc -l <"$GBE_MEM/err")" 1
	rm "$path"
	mkdir "$path"
	not_a_program "*$path*"
	ln -s nowhere "$path"
	refused "store is a verb of the package greenboot-etcd-store, which is not installed" store list
}

# Programs are searched for only in the library's directory.
redirected() {
	local evil=$GBE_MEM/evil name

	a_copy
	# The script works in its own directory, so a start elsewhere would be seen.
	hostile "$LIBEXEC/greenboot-etcd-store"
	assert_exit 0 cmd store list
	assert_exists "$MARK"
	rm "$MARK" "$LIBEXEC/greenboot-etcd-store"

	for name in "" bin/ usr/bin/ libexec/ libexec/greenboot-etcd/ usr/libexec/greenboot-etcd/ hooks/ greenboot-etcd/; do
		hostile "$evil/$name"greenboot-etcd-store
	done
	ln -s "$GBE" "$evil/usr/bin/greenboot-etcd"
	cp -a "$evil"/* "$ROOT/"
	mkdir -p "$ROOT/usr/local"
	cp -a "$evil/libexec" "$ROOT/usr/local/"
	for name in "" libexec/greenboot-etcd usr/bin; do
		(
			cd "$evil/$name"
			export PATH=$evil:$evil/bin:.:$PATH HOME=$evil PWD=$evil OLDPWD=$evil _=$evil/greenboot-etcd
			for variable in LIBEXECDIR LIBEXEC_DIR libexecdir PREFIX DESTDIR BINDIR GIT_EXEC_PATH GREENBOOT_ETCD_EXEC_PATH \
				GREENBOOT_ETCD_LIBEXECDIR GREENBOOT_ETCD_LIBEXEC GREENBOOT_ETCD_PATH LD_ORIGIN_PATH; do
				export "$variable=$evil/libexec/greenboot-etcd"
			done
			refused "store is a verb of the package *" store list
			# The command is started by a name, by a link with other programs next to it, and with another
			# name.
			(exec -a "$evil/bin/greenboot-etcd" "$GBE" --root="$ROOT" store list) && fail "started by its name"
			"$evil/usr/bin/greenboot-etcd" --root="$ROOT" store list && fail "started next to a link"
			PATH=$TREE/usr/local/bin:$PATH greenboot-etcd store list && fail "started from PATH"
			assert_exit 0 cmd help
		)
	done
	not_started
}

# A word that is not a verb is not searched for.
words() {
	local word

	a_copy
	hostile "$LIBEXEC/greenboot-etcd-x/y"
	hostile "$LIBEXEC/greenboot-etcd-X"
	hostile "$LIBEXEC/greenboot-etcd-x1"
	hostile "$LIBEXEC/greenboot-etcd-"
	hostile "$LIBEXEC/greenboot-etcd-y z"
	hostile "$TREE/usr/local/libexec/y"
	for word in x/y x/../x/y ../y /y "$LIBEXEC/greenboot-etcd-x/y" . .. ../../bin/greenboot-etcd X x1 "" "y z" x/ $'x\n' -; do
		assert_exit 2 cmd "$word"
		assert_exit 2 cmd help "$word" extra
		assert_exit 2 cmd --json "$word" list
	done
	# Help does not ask such a program, and ignores files that an editor or a package manager left.
	hostile "$LIBEXEC/greenboot-etcd-store.rpmsave"
	hostile "$LIBEXEC/greenboot-etcd-store~"
	assert_exit 0 cmd help
	assert_eq "verbs" "$(verbs)" "$(verbs_of)"
	not_started
}

# verbs: prints the verbs of OUT, a help. verbs_of PROGRAM...: prints those of the base and of these programs.
verbs() { sed -nE 's/^  ([a-z]+)( .*)?$/\1/p' <<<"$OUT" | sort | paste -sd' '; }
verbs_of() {
	local name
	{
		sed -nE '/^static const GbeVerb verbs/,/^};/{/\.alias/d; s/^    \{"([a-z]+)", .*/\1/p}' "$GBE_TOP/src/cli/verbs.c"
		for name; do
			case $name in
			store) echo store ;;
			cluster) printf '%s\n' cluster member ;;
			esac
		done
	} | sort | paste -sd' '
}
# takes WORDS VERB: expects the subcommands WORDS in the verb's help.
takes() {
	for how in "help $2" "$2 --help" "--help $2"; do
		# shellcheck disable=SC2086 # words
		assert_exit 0 cmd $how
		assert_eq "stderr of $how" "$ERR" ""
		assert_eq "subcommands of $how" "$(sed -n '/^Subcommands:/,/^$/s/^  \([a-z-]\+\) .*/\1/p' <<<"$OUT" | paste -sd' ')" "$1"
	done
}

lists() {
	local programs

	for programs in "" store certs "certs cluster" "store certs cluster"; do
		# shellcheck disable=SC2086 # words
		built $programs || continue
		# shellcheck disable=SC2086
		a_copy $programs
		for how in help --help "help -v"; do
			# shellcheck disable=SC2086
			assert_exit 0 cmd $how
			assert_eq "stderr of $how" "$ERR" ""
			# shellcheck disable=SC2086
			assert_eq "verbs with ${programs:-no program}" "$(verbs)" "$(verbs_of $programs)"
			assert_eq "certs" "$(grep -c '^  certs ' <<<"$OUT")" 1
			assert_match "the end" "$OUT" "*This command:*help*version*Options*"
		done
		if [[ $programs == *certs* ]]; then
			takes "list init renew rotate-ca issue sign reset export" certs
		else
			takes "list reset export" certs
		fi
		[[ $programs != *store* ]] || takes "list push pull verify send prune requests" store
		if [[ $programs == *cluster* ]]; then
			takes "status init join rejoin token leave reset recover lock unlock" cluster
			takes "list add promote update remove replace" member
		fi
	done
}

# The program gets the typed words. Its output and exit status are those of the command.
passed_through() {
	local size

	a_copy
	script "$LIBEXEC/greenboot-etcd-say" 'printf "%s|" "$0" "$@"; cat; echo aside >&2; exit 42'
	assert_exit 42 cmd --json -q --config=/x say one "two  words" "" --flag=1 -- --json <<<"stdin"
	assert_eq stdout "$OUT" "$LIBEXEC/greenboot-etcd-say|--root=$ROOT|--json|-q|--config=/x|say|one|two  words||--flag=1|--|--json|stdin"
	assert_eq stderr "$ERR" aside
	assert_exit 42 cmd help say
	assert_match "help" "$OUT" "*|help|say|"
	assert_exit 42 cmd -- say
	script "$LIBEXEC/greenboot-etcd-many" 'head -c 3000000 /dev/zero'
	size=$(cmd many | wc -c)
	assert_eq "bytes" "$size" 3000000
	script "$LIBEXEC/greenboot-etcd-ends" 'kill -TERM $$'
	assert_exit 143 cmd ends
	# An optional program cannot replace a verb of the base.
	hostile "$LIBEXEC/greenboot-etcd-list"
	hostile "$LIBEXEC/greenboot-etcd-help"
	hostile "$LIBEXEC/greenboot-etcd-version"
	assert_exit 0 cmd list
	assert_exit 0 cmd version
	not_started
}

really() {
	a_copy store certs cluster
	mkdir -p "$ROOT/var/store" "$ROOT/etc/greenboot-etcd"
	assert_exit 0 cmd --json store list --store=/var/store
	assert_eq "snapshots" "$(of '.snapshots | length')" 0
	assert_exit 0 "$GBE" --json "--root=$ROOT" -- store list --store=/var/store
	assert_exit 1 cmd --json store list --store=/var/none
	fits error
	assert_exit 2 cmd store list
	assert_match "no store" "$ERR" "*no store is set*"
	printf '[store]\ndirectory=/var/store\n' >"$ROOT/etc/other.conf"
	assert_exit 0 cmd --config=/etc/other.conf store list
	assert_exit 2 cmd store frob
	assert_exit 2 cmd member frob
	assert_exit 2 cmd cluster frob
	assert_exit 2 cmd certs frob
	for words in store "store list" certs "certs list" cluster "cluster status" member "member list"; do
		# shellcheck disable=SC2086 # words
		assert_exit 0 cmd $words --version
		assert_eq "$words --version" "$OUT" "greenboot-etcd $VERSION"
	done
}

# If a program ends badly, help only lacks its lines.
broken() {
	local ends

	a_copy
	for ends in 'kill -SEGV $$' 'exit 3' 'exec /nowhere'; do
		script "$LIBEXEC/greenboot-etcd-store" 'echo "  hijacked"' "$ends"
		script "$LIBEXEC/greenboot-etcd-works" 'echo "  works"'
		assert_exit 0 cmd help
		assert_eq "verbs" "$(verbs)" "$({ verbs_of | tr ' ' '\n' && echo works; } | sort | paste -sd' ')"
		assert_match "stderr" "$ERR" "*greenboot-etcd: *"
		assert_exit 0 cmd help list
		assert_exit 0 cmd list
	done
	# A file that the kernel cannot start contains the library's name.
	printf '\177ELFlibgreenboot-etcd-%s.so\0' "$VERSION" >"$LIBEXEC/greenboot-etcd-store"
	refused "cannot start $LIBEXEC/greenboot-etcd-store: Exec format error" store list
	assert_exit 0 cmd help
	assert_eq "verbs" "$(verbs)" "$({ verbs_of | tr ' ' '\n' && echo works; } | sort | paste -sd' ')"
}

suite_begin "$@"
run_case programs-missing missing
! built store cluster || run_case programs-versions versions
run_case programs-none no_program
run_case programs-redirected redirected
run_case programs-words words
run_case programs-lists lists
run_case programs-passed-through passed_through
! built store cluster || run_case programs-really really
run_case programs-broken broken
suite_end
