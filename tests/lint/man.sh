#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# mandoc and groff read the man pages without a complaint, and break no name or path at the end of a line. Each page
# names itself, a day and this version. Each program has a page, and each page that a file names exists.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

version=$(make --no-print-directory -s print-version)
mapfile -t pages < <(files 'data/man/*')

# As they are installed, so that ".so" finds its page.
for page in "${pages[@]}"; do
	install -D -m 0644 "$page" "$scratch/man/man${page##*.}/${page##*/}"
done
# complaints TOOL: of each page, as "PAGE: WHAT".
complaints() {
	local page file

	for page in "${pages[@]}"; do
		file=man${page##*.}/${page##*/}
		(cd "$scratch/man" && "$1" "$file" 2>&1) | sed "s|^|$page: |"
	done
}
with_mandoc() { mandoc -Tlint -W warning "$1" | grep -v 'WARNING: \.so is fragile'; }
with_groff() { groff -t -man -Tutf8 -ww "$1" >/dev/null; }
# broken TOOL...: the ends of lines, at 80 columns, where a name was broken. A break inside a name or path adds a hyphen
# (U+2010 or "-"): the text can then no longer be copied or searched for.
broken() {
	local page file

	for page in "${pages[@]}"; do
		file=man${page##*.}/${page##*/}
		(cd "$scratch/man" && "$@" "$file" 2>/dev/null) | col -bp |
			grep -nE $'\u2010|[[:alnum:]]-$' | sed "s|^|$page, rendered: |"
	done
}
# After a macro with two fonts, the rest of the line is glued together.
glued() { grep -nE '^\.(BR|IR|BI|RB|RI|IB) .* [.,;] +[[:alpha:]]' "$@" | sed 's/$/: text after a full stop/'; }
heads() {
	local page name

	for page; do
		name=${page##*/}
		sed 's/\\-/-/g' "$page" | grep -qE "^\\.so |^\\.TH $(
			tr '[:lower:]' '[:upper:]' <<<"${name%.*}") ${page##*.} 20[0-9-]{8} \"greenboot-etcd $version\" " ||
			echo "$page:1: .TH names something else than the page, a day and greenboot-etcd $version"
	done
}
programs() {
	local program
	for program in $(files 'hooks/*.c' | sed 's|hooks/||; s|\.c$||') initramfs store certs cluster; do
		[ -e "data/man/greenboot-etcd-$program.8" ] || echo "there is no greenboot-etcd-$program(8)"
	done
}
named() {
	local page name
	for page; do
		sed 's/\\-/-/g' "$page" | grep -oE '(^|[^-[:alnum:]])greenboot-etcd[a-z.-]* ?\([0-9]\)' |
			grep -oE 'g.*' | sort -u | while IFS= read -r name; do
			name=${name// /}
			[ -e "data/man/${name%(*}.${name: -2:1}" ] || echo "$page: there is no $name"
		done
	done
}

if command -v mandoc >/dev/null; then
	check man-mandoc "$(complaints with_mandoc)"
	check man-mandoc-names "$(broken mandoc -Tutf8 -O width=80)"
else
	skip man-mandoc "mandoc is not installed: make deps"
fi
if command -v groff >/dev/null; then
	check man-groff "$(complaints with_groff)"
	check man-groff-names "$(broken groff -t -man -Tutf8 -rLL=80n -P-c)"
else
	skip man-groff "optional: groff is not installed"
fi
check man-glued "$(glued "${pages[@]}")"
check man-heads "$(heads "${pages[@]}")"
check man-programs "$(programs)"
mapfile -t texts < <(files README.md NEWS.md 'docs/*.md')
check man-named "$(named "${pages[@]}" "${texts[@]}")"

# The guard guards.
printf '.TH X 8 "" "greenboot-etcd 0"\n.B greenboot\\-etcd\\-no (8)\n' >"$scratch/x.8"
named "$scratch/x.8" | grep -q "no greenboot-etcd-no(8)" &&
	heads "$scratch/x.8" | grep -q . && ok man-can-fail || not_ok man-can-fail "a page that is not there was not found"
printf '.BR x . A sentence\n' >"$scratch/glued.8"
glued "$scratch/glued.8" | grep -q . && ok man-glued-can-fail || not_ok man-glued-can-fail "a glued sentence was not found"
if command -v groff >/dev/null; then
	pages=(x.8)
	{
		echo '.TH X 8 "2026-11-28" "x"'
		# A paragraph of the name, at every place of the line.
		for ((i = 1; i < 60; i++)); do printf '%.*s\ngreenboot\\-etcd(8)\n.PP\n' "$i" "$(printf 'x%.0s' {1..60})"; done
	} >"$scratch/man/man8/x.8"
	[ -n "$(broken groff -man -Tutf8 -rLL=60n -P-c)" ] && ok man-broken-can-fail ||
		not_ok man-broken-can-fail "a broken name was not found"
fi
finish
