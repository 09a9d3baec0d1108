# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The links of Markdown pages, for the checks of the tree and of what is installed; sourced after lib.bash.

# links FILE: "LINE TARGET" of each link that stands outside of code.
links() {
	awk '
		/^ *(```|~~~)/ { code = !code; next }
		code { next }
		{
			gsub(/`[^`]*`/, "")
			rest = $0
			while (match(rest, /\]\([^()]*\)|(href|src|srcset)="[^"]*"|^\[[^]]*\]: *[^ ]+/)) {
				target = substr(rest, RSTART, RLENGTH)
				rest = substr(rest, RSTART + RLENGTH)
				sub(/^\]\( */, "", target) || sub(/^[a-z]+="/, "", target) || sub(/^\[[^]]*\]: */, "", target)
				sub(/( +"[^"]*")? *\)$/, "", target) || sub(/"$/, "", target)
				print NR, target
			}
		}' "$1"
}

# anchors FILE: the anchors of its headings. Punctuation goes, blanks become -, a second heading of a name gets -1.
anchors() {
	awk '/^ *(```|~~~)/ { code = !code; next } !code && sub(/^#+ +/, "")' "$1" |
		sed -E 's/ +#* *$//; s/!?\[([^]]*)\]\([^()]*\)/\1/g; s/.*/\L&/; s/[^[:alnum:] _-]//g; s/ /-/g' |
		awk '{ print seen[$0]++ ? $0 "-" seen[$0] - 1 : $0 }'
}

# dead FILE...: "FILE:LINE: TARGET: WHY" of each dead link. The tree is that of lib.bash's files.
dead() {
	local file line target path anchor
	local -A tree=([.]=1)

	while IFS= read -r path; do
		tree[$path]=1
		while [[ $path == */* ]]; do
			path=${path%/*}
			tree[$path]=1
		done
	done < <(files '*')
	for file in "$@"; do
		while read -r line target; do
			case $target in
			[a-z]*:*) continue ;;
			esac
			path=${target%%#*}
			anchor=${target#"$path"}
			[ -z "$path" ] || path=$(realpath -m --relative-to=. "$(dirname "$file")/$path")
			path=${path:-$file}
			if [ -z "${tree[$path]:-}" ]; then
				echo "$file:$line: $target: not in the tree"
			elif [ -n "$anchor" ] && ! { [[ $path == *.md ]] && anchors "$path" | grep -qxF -- "${anchor#\#}"; }; then
				echo "$file:$line: $target: no such heading"
			fi
		done < <(links "$file")
	done
}
