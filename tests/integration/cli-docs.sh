#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The texts about the command match it: man pages, examples, completion.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

GBE=$(program greenboot-etcd)
DATA_DIR=$GBE_TOP/data
# The verbs of the base, and each verb's optional program.
BASE=(status list show backup restore undo mark explain log prune pin unpin delete config verify health preflight
	rehearse snapshot export import etcdctl defrag alarm certs endpoint run diagnose)
declare -A PROGRAM=([store]=store [certs]=certs [cluster]=cluster [member]=cluster)
VERBS=("${BASE[@]}")
for verb in store cluster member; do
	! built "${PROGRAM[$verb]}" || VERBS+=("$verb")
done

# plain FILE: prints a page as text, with the minus signs of the source.
plain() { sed -e 's/\\-/-/g' -e 's/\\f[BIRP]//g' "$1"; }

empty_root() {
	ROOT=$GBE_MEM/empty.$BASHPID
	mkdir -p "$ROOT"
}

# The page and the example have every key with its default, and nothing else.
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
	# Neither has a key that does not exist.
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
		# Comments are about existing keys: the file is also valid without their #.
		sed -n -e '/^\[/p' -e 's/^#\([a-z-]*=.\)/\1/p' "$file" >"$ROOT/bare.conf"
		assert_exit 0 "$GBE" --root="$ROOT" --config=/bare.conf config --check
	done
}

# verbs_of BIN VERB...: expects exactly these verbs in the help of BIN. The page that each verb's help names has the
# verb and its options.
verbs_of() {
	local bin=$1 verb option page name
	shift

	assert_eq "verbs in the help" "$("$bin/greenboot-etcd" help | sed -nE 's/^  ([a-z]+)( .*)?$/\1/p' | sort)" \
		"$(printf '%s\n' "$@" help version | sort)"
	for verb; do
		name=greenboot-etcd
		[[ ! ${PROGRAM[$verb]-} || ! -e $bin/hooks/greenboot-etcd-${PROGRAM[$verb]} ]] || name+=-${PROGRAM[$verb]}
		"$bin/greenboot-etcd" --help "$verb" >"$GBE_MEM/help"
		assert_eq "page of $verb" "$(tail -n 1 "$GBE_MEM/help")" "For more details see $name(8)."
		page=$(plain "$DATA_DIR/man/$name.8")
		grep -qE "^\.(B|BR|BI) ($verb|\" $verb)( |\$)|, \" $verb \"" <<<"$page" || fail "$name(8) lacks $verb"
		# shellcheck disable=SC2013 # words
		for option in $(sed '/^Example/,$d' "$GBE_MEM/help" | grep -oE -- '^  .*--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
			grep -q -- "$option" <<<"$page" || fail "$name(8) lacks $option of $verb"
		done
	done
}

verbs() {
	local program
	local -a all=()

	for program in store certs cluster; do
		! built "$program" || all+=("$program")
	done
	install_with "$GBE_MEM/base"
	verbs_of "$GBE_MEM/base" "${BASE[@]}"
	install_with "$GBE_MEM/all" "${all[@]}"
	verbs_of "$GBE_MEM/all" "${VERBS[@]}"
	# The page of the base has only the verbs of the base.
	! plain "$DATA_DIR/man/greenboot-etcd.8" | sed -n '/^\.SH VERBS/,/^\.SH OPTIONAL/p' |
		grep -nE '^\.BR? "?(store|cluster|member|certs( " ")? (init|renew|rotate-ca|issue|sign)) ' ||
		fail "greenboot-etcd(8) has a verb of an optional program"
}

# The commands of the guide exist.
guide() {
	local line verb option word page commands=0

	page=$(plain "$DATA_DIR/man/greenboot-etcd-guide.7")
	while read -r line; do
		commands=$((commands + 1))
		verb=$(sed -E 's/^greenboot-etcd( -[^ ]+)* //; s/ .*//' <<<"$line")
		[[ ! ${PROGRAM[$verb]-} ]] || built "${PROGRAM[$verb]}" || continue
		[[ " ${VERBS[*]} " == *" $verb "* ]] || fail "there is no verb $verb: $line"
		"$GBE" "$verb" --help >"$GBE_MEM/help"
		# Each option of a verb is part of its usage.
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
	# The table has a part for each tool that people come from.
	for word in charm etcdadm etcd-manager k3s etcdctl microshift OCP; do
		grep -qE "^$word\\b.*@" <<<"$page" || fail "the table lacks $word"
	done
}

# completions: uses the installed completions, which look for the programs in BIN.
completions() {
	local file

	mkdir -p "$BIN/completion"
	for file in greenboot-etcd _greenboot-etcd greenboot-etcd.fish; do
		sed "s|/usr/libexec/greenboot-etcd|$BIN/hooks|" "$DATA_DIR/completion/$file" >"$BIN/completion/$file"
	done
}

# completes WORD...: prints what bash offers for the last word. BIN has the command.
completes() {
	PATH=$BIN:$PATH bash -c '
		. "$0"
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_greenboot_etcd
		printf "%s\n" "${COMPREPLY[@]}"' "$BIN/completion/greenboot-etcd" "$@"
}

# The same for zsh, without its file names, and for fish.
completes_in_zsh() {
	PATH=$BIN:$PATH zsh -f -c '
		compadd() {
			[[ $1 != -S ]] || shift 2
			shift
			for word; do [[ $word != $PREFIX* ]] || print -r -- $word; done
		}
		compset() { PREFIX=${PREFIX#*=}; }
		_files() { :; }
		_command_names() { :; }
		complete_last() { words=("$@") CURRENT=$# PREFIX=${@[-1]}; source $file; }
		file=$0
		complete_last "$@"' "$BIN/completion/_greenboot-etcd" "$@"
}
# fish also offers words that resemble the last one.
completes_in_fish() {
	# shellcheck disable=SC2016 # fish's
	PATH=$BIN:$PATH fish --no-config -c 'source $argv[1]; complete -C "$argv[2]"' \
		"$BIN/completion/greenboot-etcd.fish" "$*" | cut -f1 | WORD=${*: -1} awk 'index($0, ENVIRON["WORD"]) == 1'
}

# offers_value WANTED VERB... --OPTION VALUE: checks the same for the text after "--OPTION=", which each shell handles
# in its own way.
offers_value() {
	local wanted=$1 value=${*: -1} option=${*: -2:1} shell offered
	local -a words=("${@:2:$#-3}")

	for shell in completes completes_in_zsh completes_in_fish; do
		case $shell in
		completes) offered=$(completes greenboot-etcd "${words[@]}" "$option" = "$value") ;;
		*)
			command -v "${shell##*_}" >/dev/null || continue
			offered=$("$shell" greenboot-etcd "${words[@]}" "$option=$value")
			;;
		esac
		assert_eq "$shell ${words[*]} $option=$value" "$(sed "s/^$option=//" <<<"$offered" | sort | paste -sd' ')" "$wanted"
	done
}

# offers WANTED WORD...: expects that each installed shell offers these for the last word, in any order.
offers() {
	local wanted=$1 shell
	shift

	for shell in completes completes_in_zsh completes_in_fish; do
		[[ $shell == completes ]] || command -v "${shell##*_}" >/dev/null || continue
		assert_eq "$shell $*" "$("$shell" "$@" | sort | paste -sd' ')" "$wanted"
	done
}

completion() {
	BIN=$GBE_MEM/bin
	mkdir -p "$BIN"
	ln -sf "$GBE" "$BIN/greenboot-etcd"
	ln -sfn "$BUILD/hooks" "$BIN/hooks"
	completions
	a_green xfs
	stop_etcd
	gbe backup before-this
	gbe backup before-that
	assert_eq "verbs" "$(completes greenboot-etcd sta)" status
	assert_eq "verbs to help with" "$(completes greenboot-etcd help sta)" status
	assert_eq "options" "$(completes greenboot-etcd backup --l)" --live
	assert_eq "options of an alias" "$(completes greenboot-etcd save --l)" --live
	assert_eq "global options" "$(completes greenboot-etcd --js)" --json
	assert_eq "grades" "$(completes greenboot-etcd list --grade = g)" good
	assert_eq "names" "$(completes greenboot-etcd --root = "$ROOT" restore before-th | sort)" \
		$'before-that\nbefore-this'
	assert_eq "a name to mark" "$(completes greenboot-etcd --root "$ROOT" mark bad before-thi)" \
		before-this
	assert_eq "mark" "$(completes greenboot-etcd mark b)" bad
	assert_eq "of a backup" "$(completes greenboot-etcd --root = "$ROOT" log --backup = before-thi)" before-this
	offers "before-that before-this" greenboot-etcd --root "$ROOT" restore before-th
	offers before-this greenboot-etcd "--root=$ROOT" mark good before-thi
	offers_value before-this --root "$ROOT" log --backup before-thi
	assert_eq "of an update" "$(completes greenboot-etcd rehearse --deployment = st)" staged
	# To complete a verb or an option, no program is started.
	mv "$BIN/greenboot-etcd" "$BIN/away"
	assert_eq "without the program" "$(PATH=/usr/bin:/bin completes greenboot-etcd verify --fu)" --full
	mv "$BIN/away" "$BIN/greenboot-etcd"
	assert_eq "an option with its value before" "$(completes greenboot-etcd --config /x backup --li)" --live
	assert_eq "--data without a value" "$(completes greenboot-etcd verify --data --fu)" --full
	built cluster || return 0
	# Values of options, and files.
	: >"$GBE_MEM/a-token"
	assert_eq "a token" "$(completes greenboot-etcd cluster join --token = "$GBE_MEM/a-t")" "$GBE_MEM/a-token"
	assert_eq "a new token" "$(completes greenboot-etcd cluster token "$GBE_MEM/a-t")" "$GBE_MEM/a-token"
	assert_eq "cluster" "$(completes greenboot-etcd cluster reco)" recover
	assert_eq "from a backup" "$(completes greenboot-etcd --root = "$ROOT" cluster init --from = before-thi)" before-this
}

# Each shell offers what is installed, with the optional programs and without.
installed() {
	mkdir -p "$GBE_MEM/nothing"
	cd "$GBE_MEM/nothing"
	BIN=$GBE_MEM/base
	install_with "$BIN"
	completions
	offers "$(printf '%s\n' "${BASE[@]}" help version | sort | paste -sd' ')" greenboot-etcd ""
	offers "export list reset" greenboot-etcd certs ""
	offers "" greenboot-etcd certs --ca
	offers "save status" greenboot-etcd snapshot ""
	offers "save status" greenboot-etcd help snapshot ""
	offers "--timeout=" greenboot-etcd snapshot save --timeo
	offers "" greenboot-etcd snapshot status --timeo
	offers "--full" greenboot-etcd --root / status --f
	offers "" greenboot-etcd frob ""
	offers_value green explain --verdict g
	offers_value "rollback staged" rehearse --deployment ""
	offers_value "" list --deployment ""
	offers "" greenboot-etcd store ""
	offers "" greenboot-etcd cluster --tok
	built store || return 0
	BIN=$GBE_MEM/with-store
	install_with "$BIN" store
	completions
	offers "show snapshot status store" greenboot-etcd s
	offers "list prune pull push requests send verify" greenboot-etcd store ""
	offers "delete list run" greenboot-etcd store requests ""
	offers "--identity=" greenboot-etcd store pull --id
	offers "" greenboot-etcd store push --id
	offers latest greenboot-etcd store pull ""
	offers "--dry-run" greenboot-etcd store requests delete --d
	offers "" greenboot-etcd member ""
	built cluster || return 0
	BIN=$GBE_MEM/with-cluster
	install_with "$BIN" certs cluster
	completions
	offers "certs cluster config" greenboot-etcd c
	offers "export init issue list renew reset rotate-ca sign" greenboot-etcd certs ""
	offers "add list promote remove replace update" greenboot-etcd member ""
	offers "" greenboot-etcd store ""
}

suite_begin "$@"
run_case docs-keys keys
run_case docs-examples examples
run_case docs-verbs verbs
run_case docs-guide guide
run_case docs-completion completion
run_case docs-completion-installed installed
suite_end
