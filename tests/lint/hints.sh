#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs accept each call of greenboot-etcd that a message, a page, the catalog or an example advises. Verb, words,
# options and the number of arguments are checked.
# shellcheck disable=SC2016 # backquotes of calls, which the shell must not expand
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

if [ "$PROGRAMS" != "store certs cluster" ]; then
	skip hints "optional: the calls need all programs"
	finish
fi
advised() {
	python3 tests/lint/hints.py "$BUILD" "$@"
}
mapfile -t texts < <(files 'src/*.[ch]' 'hooks/*' 'greenboot.d/*' README.md NEWS.md CONTRIBUTING.md 'docs/*.md' 'data/man/*.[1-8]' \
	data/greenboot-etcd.catalog 'data/examples/*.conf' 'data/image/*' 'data/cockpit/*.js' 'data/monitoring/*' 'rpm/*.spec')
check_each hints advised "${texts[@]}"

# refuses NAME FILE CALL TEXT: TEXT, in a file of this name, has a false CALL.
refuses() {
	printf '%s\n' "$4" >"$scratch/$2"
	[[ $(advised "$scratch/$2") == "$scratch/$2:"*": greenboot-etcd $3: "* ]] && ok "hints-can-fail-$1" ||
		not_ok "hints-can-fail-$1" "$3 was accepted"
}
refuses option a.c "undo --live" 'throw("no clone; run `greenboot-etcd undo --live` first")'
refuses short b.c "store pull" 'throw("gone; `store pull` gets it, `list` shows it")'
refuses joined c.c "delete --force placeholder --all" 'throw("gone; run `greenboot-etcd delete "
	"--force %s --all`", name)'
refuses step d.c "restore placeholder --now" 'steps = {"greenboot-etcd restore {backup} --now"};'
refuses page e.md "backup @1 @2" 'Run `greenboot-etcd backup @1 @2`.'
refuses example f.md "restore @1 --nwo" "$(printf '%s\n' '```sh' 'greenboot-etcd restore @1 --nwo # now' '```')"
refuses man g.8 "store fetch" 'Run \fBgreenboot\-etcd store fetch\fR.'
finish
