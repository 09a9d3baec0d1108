#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The page of Cockpit: JavaScript that parses and stays small, nothing that Cockpit's content security policy forbids,
# and no address but the page's own.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

page=data/cockpit/greenboot-etcd
mapfile -t scripts < <(files "$page/*.js")
mapfile -t tests < <(files 'tests/page/*.mjs')

check page-spdx "$(for path in "${scripts[@]}" "${tests[@]}" $page/page.css; do
	head -n 1 "$path" | grep -qx '/\* SPDX-License-Identifier: LGPL-2\.1-or-later \*/' || echo "$path"
done)"
lines=$(cat "${scripts[@]}" | wc -l)
check page-size "$([ "$lines" -le 2000 ] || echo "$lines lines of JavaScript, 2000 are allowed")"
check page-json "$(for path in $page/manifest.json tests/page/*.json; do python3 -m json.tool "$path" 2>&1 >/dev/null; done)"
check page-lock "$(grep -n '"resolved"' tests/page/package-lock.json)"

# inline FILE...: what the policy forbids, and addresses of others. (The namespace of SVG is a name.)
inline() { grep -nE 'style="| on[a-z]+="|innerHTML|outerHTML|insertAdjacentHTML|\beval\(|https?://' "$@" /dev/null | grep -v 'www\.w3\.org/2000/svg'; }
check page-policy "$(inline "${scripts[@]}" $page/index.html $page/page.css)"

if command -v node >/dev/null; then
	check page-parses "$(for path in "${scripts[@]}" "${tests[@]}"; do
		cp "$path" "$scratch/module.mjs"
		node --check "$scratch/module.mjs" 2>&1 | sed "1s|^|$path: |" | head -n 4
	done)"
else
	skip page-parses "node is not installed: make deps-all"
fi

echo '<p style="color: red" onclick="go()">' >"$scratch/bad.html"
[ -n "$(inline "$scratch/bad.html")" ] && ok page-can-fail || not_ok page-can-fail "an inline style is accepted"
finish
