#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What is written about the command is what the command does: man pages, examples, completion.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

GBE=$(program greenboot-etcd)
DATA_DIR=$GBE_TOP/data
VERBS=(status list show backup restore undo mark explain log prune pin unpin delete config verify
	health preflight rehearse snapshot store export import etcdctl defrag alarm certs cluster member endpoint run
	diagnose)

# plain FILE: a page as text, minus signs as in the source of everything else.
plain() { sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' "$1"; }

empty_root() {
	ROOT=$GBE_MEM/empty.$BASHPID
	mkdir -p "$ROOT"
}

# Every key, its default and nothing else, in the page and in the example.
keys() {
	local group='' line key value page example

	empty_root
	page=$(plain "$DATA_DIR/man/greenboot-etcd.conf.5")
	example=$(<"$DATA_DIR/examples/greenboot-etcd.conf")
	"$GBE" --root="$ROOT" config >"$GBE_MEM/config"
	while read -r line; do
		case $line in
		\[*\])
			group=$line
			grep -qxF ".SH $line" <<<"$page" || fail "conf(5) lacks $group"
			grep -qxF "$line" <<<"$example" || fail "the example lacks $group"
			;;
		*=*)
			key=${line%%=*}
			value=${line#*=}
			section=$(awk -v g=".SH $group" '$0 == g { on = 1; next } /^\.SH/ { on = 0 } on' <<<"$page")
			grep -qxF ".B $key=" <<<"$section" || fail "conf(5) lacks $group $key"
			entry=$(awk -v k=".B $key=" '$0 == k { on = 1; next } /^\.TP/ { on = 0 } on' <<<"$section")
			assert_match "default of $group $key in conf(5)" "$entry" "*; default: ${value:-empty}."
			section=$(awk -v g="$group" '$0 == g { on = 1; next } /^\[/ { on = 0 } on' <<<"$example")
			grep -qxF "#$key=$value" <<<"$section" || fail "the example lacks $group $key=$value"
			;;
		esac
	done <"$GBE_MEM/config"
	# And none that there is not.
	assert_eq "keys in conf(5)" "$(grep -c '^\.B [a-z-]*=$' <<<"$page")" \
		"$(grep -c = "$GBE_MEM/config")"
	assert_eq "keys in the example" "$(grep -c '^#[a-z-]*=' <<<"$example")" \
		"$(grep -c = "$GBE_MEM/config")"
}

examples() {
	local file name

	empty_root
	for file in "$DATA_DIR"/examples/*.conf; do
		name=${file##*/}
		cp "$file" "$ROOT/$name"
		assert_exit 0 "$GBE" --root="$ROOT" --config="/$name" config --check
		# The comments are about keys that exist: without their # it is right, too.
		sed -n -e '/^\[/p' -e 's/^#\([a-z-]*=.\)/\1/p' "$file" >"$ROOT/bare.conf"
		assert_exit 0 "$GBE" --root="$ROOT" --config=/bare.conf config --check
	done
}

verbs() {
	local verb option page

	page=$(plain "$DATA_DIR/man/greenboot-etcd.8")
	for verb in "${VERBS[@]}"; do
		grep -qE "^\.(B|BR|BI) ($verb|\" $verb)( |\$)|, \" $verb \"" <<<"$page" ||
			fail "greenboot-etcd(8) lacks $verb"
		grep -qw -- "$verb" "$DATA_DIR/completion/greenboot-etcd" || fail "completion lacks $verb"
		for option in $("$GBE" --help "$verb" | sed '/^Example/,$d' | grep -oE -- '^  .*--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
			grep -q -- "$option" <<<"$page" || fail "greenboot-etcd(8) lacks $option of $verb"
			grep -q -- "$option" "$DATA_DIR/completion/greenboot-etcd" ||
				fail "completion lacks $option of $verb"
		done
	done
}

# What the guide tells people to type is there to be typed.
guide() {
	local line verb option word page commands=0

	page=$(plain "$DATA_DIR/man/greenboot-etcd-guide.7")
	while read -r line; do
		commands=$((commands + 1))
		verb=$(sed -E 's/^greenboot-etcd( -[^ ]+)* //; s/ .*//' <<<"$line")
		[[ " ${VERBS[*]} " == *" $verb "* ]] || fail "there is no verb $verb: $line"
		"$GBE" "$verb" --help >"$GBE_MEM/help"
		# What a verb is told to do is one of the words of its usage.
		if [[ " snapshot store alarm certs cluster member endpoint " == *" $verb "* ]]; then
			word=$(sed -E "s/^greenboot-etcd( -[^ ]+)* $verb *//; s/[ :;].*//" <<<"$line")
			grep -qE "^Usage:.*[ |]$word([ |]|\$)" "$GBE_MEM/help" || fail "$verb knows no $word: $line"
		fi
		while read -r option; do
			grep -q -- "$option\\b" "$GBE_MEM/help" || fail "$verb has no $option: $line"
		done < <(grep -oE -- '--[a-z-]+' <<<"${line/-etcd/}")
	done < <(grep -E '^(\.[BI]|# |greenboot-etcd )' <<<"$page" |
		grep -oE 'greenboot-etcd( -[^ ]+)* [a-z]+( [^".,;]*)?')
	((commands > 70)) || fail "only $commands commands found"
	# Each tool that people come from has its part of the table.
	for word in charm etcdadm etcd-manager k3s etcdctl microshift OCP; do
		grep -qE "^$word\\b.*@" <<<"$page" || fail "the table lacks $word"
	done
}

# complete WORD...: what completion offers for the last one.
completes() {
	PATH=$GBE_MEM/bin:$PATH bash -c '
		. "$0"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_greenboot_etcd
		printf "%s\n" "${COMPREPLY[@]}"' "$DATA_DIR/completion/greenboot-etcd" "$@"
}

completion() {
	mkdir -p "$GBE_MEM/bin"
	ln -sf "$GBE" "$GBE_MEM/bin/greenboot-etcd"
	a_green xfs
	stop_etcd
	gbe backup before-this
	gbe backup before-that
	assert_eq "verbs" "$(completes greenboot-etcd sta)" status
	assert_eq "options" "$(completes greenboot-etcd backup --l)" --live
	assert_eq "global options" "$(completes greenboot-etcd --js)" --json
	assert_eq "grades" "$(completes greenboot-etcd list --grade = g)" good
	assert_eq "names" "$(completes greenboot-etcd --root = "$ROOT" restore before-th | sort)" \
		$'before-that\nbefore-this'
	assert_eq "a name to mark" "$(completes greenboot-etcd --root "$ROOT" mark bad before-thi)" \
		before-this
	assert_eq "mark" "$(completes greenboot-etcd mark b)" bad
	# Values of options, and files.
	: >"$GBE_MEM/a-token"
	assert_eq "a token" "$(completes greenboot-etcd cluster join --token = "$GBE_MEM/a-t")" "$GBE_MEM/a-token"
	assert_eq "a new token" "$(completes greenboot-etcd cluster token "$GBE_MEM/a-t")" "$GBE_MEM/a-token"
	assert_eq "cluster" "$(completes greenboot-etcd cluster reco)" recover
	assert_eq "of a backup" "$(completes greenboot-etcd --root = "$ROOT" log --backup = before-thi)" before-this
	assert_eq "from a backup" "$(completes greenboot-etcd --root = "$ROOT" cluster init --from = before-thi)" before-this
	assert_eq "of an update" "$(completes greenboot-etcd rehearse --deployment = st)" staged
	assert_eq "--data without a value" "$(completes greenboot-etcd verify --data --fu)" --full
	# The others read the help; where the shell is installed, it reads them.
	! command -v zsh >/dev/null || zsh -n "$DATA_DIR/completion/_greenboot-etcd"
	! command -v fish >/dev/null || fish --no-execute "$DATA_DIR/completion/greenboot-etcd.fish"
	assert_eq "a verb in the help" "$("$GBE" help | sed -nE 's/^  ([a-z]+)( .*)?$/\1/p' | wc -l)" \
		$((${#VERBS[@]} + 2))
	assert_eq "its options" "$("$GBE" help undo | sed -nE 's/^  (-., |    )(--[a-z-]+=?).*/\2/p' | head -n 3 | paste -sd' ')" \
		"--stop --force --dry-run"
}

suite_begin "$@"
run_case docs-keys keys
run_case docs-examples examples
run_case docs-verbs verbs
if built store cluster; then
	run_case docs-guide guide
	run_case docs-completion completion
fi
suite_end
