#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each link of the documentation leads to a file or directory in the tree, and the part after a # to a heading, by
# GitHub's rules. README.md stays short, and docs/README.md names every page. A terminal in a page shows output of the demo.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/links.bash"

mapfile -t pages < <(files README.md CONTRIBUTING.md NEWS.md 'docs/*.md' 'tests/*.md')
check_each links dead "${pages[@]}"
check readme-fits-one-page "$(awk 'END { if (NR > 150) print NR " lines; the limit is 150" }' README.md)"
check index-is-complete "$(files 'docs/*.md' | grep -v '^docs/README\.md$' | while IFS= read -r page; do
	links docs/README.md | grep -q " ${page#docs/}\$" || echo "$page is not in docs/README.md"
done)"

# docs/terminal.svg is drawn from terminal.txt, which is output of the demo. The demo's output is compared if these
# programs have played it in this tree, as CI does before. Blocks with an output quote it.
again="make demo && tests/demo/terminal"
check picture-is-drawn "$(diff <(tests/demo/terminal draw <tests/demo/terminal.txt) docs/terminal.svg >/dev/null ||
	echo "docs/terminal.svg is not tests/demo/terminal.txt: $again")"
if [ build/demo/terminal -nt "$BUILD/greenboot-etcd" ]; then
	check picture-is-what-the-demo-prints "$(tests/demo/terminal placeholders <build/demo/terminal |
		diff <(tests/demo/terminal placeholders <tests/demo/terminal.txt) - | sed "\$a$again")"
else
	skip picture-is-what-the-demo-prints "optional: make demo"
fi
quotes() {
	awk '
		/^ *```/ { quote = 0; code = !code; next }
		code && /^\$ greenboot-etcd / { quote = 1 }
		code && quote && $0 != "…" { print FILENAME ":" FNR ": " $0 }' "$@" |
		while IFS= read -r line; do
			grep -qxF -- "${line#*: }" tests/demo/terminal.txt || echo "${line%%: *}: the demo does not print this"
		done
}
check quotes "$(quotes "${pages[@]}")"

# The guard guards: only links to nowhere are found.
mkdir -p "$scratch/tree/docs"
cat >"$scratch/tree/docs/b.md" <<'B'
# `One`, and two!
## Same
## Same
B
cat >"$scratch/tree/a.md" <<'A'
[a](docs/b.md#one-and-two) [b](docs/b.md#same-1 "title") [c](docs) [d](https://example.org/x#y) `[e](no)`
```
[f](no)
```
[g](no.md) [h](docs/b.md#same-2)
<img src="docs/no.svg">
# Here
[i](#here) ![`j`](#there)
A
found=$(cd "$scratch/tree" && GIT_CEILING_DIRECTORIES=$scratch dead a.md | cut -d: -f2,3 | tr '\n' ';')
[ "$found" = "5: no.md;5: docs/b.md#same-2;6: docs/no.svg;8: #there;" ] && ok docs-can-fail || not_ok docs-can-fail "found: $found"
# shellcheck disable=SC2016 # Markdown's
printf '```\n$ greenboot-etcd status\nProtected\nso it is\n```\n' >"$scratch/quote.md"
found=$(quotes "$scratch/quote.md")
[ "$found" = "$scratch/quote.md:4: the demo does not print this" ] && ok quotes-can-fail || not_ok quotes-can-fail "found: $found"
finish
