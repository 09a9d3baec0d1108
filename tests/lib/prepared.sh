# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# The starting points of many cases, made once below BUILD/prepared for all suites. They are made again when one of
# their sources is newer. Sourced after scratch.sh.

GBE_PREPARED=$BUILD/prepared

# prepared NAME MAKER PART...: PREPARED is the directory NAME, which MAKER DIRECTORY has filled.
prepared() {
	local directory=$GBE_PREPARED/$1
	up_to_date "$directory/done" "${@:3}" || (
		set -e
		mkdir -p "$GBE_PREPARED"
		exec {lock}>"$directory.lock"
		flock "$lock"
		! up_to_date "$directory/done" "${@:3}" || exit 0
		# ostree makes a deployment immutable: a maker that was killed may have left one.
		[[ ! -d $directory ]] || chattr -R -f -i "$directory" || true
		rm -rf -- "$directory"
		mkdir "$directory"
		"$2" "$directory"
		: >"$directory/done"
	)
	PREPARED=$directory
}

up_to_date() { # FILE PART...
	local part
	for part in "${@:2}"; do
		[[ $1 -nt $part ]] || return 1
	done
}

# prepared_tool NAME|NAME.so: a program of tests/lib.
prepared_tool() { prepared "$1" tool_make "$GBE_LIB/${1%.so}.c"; }

tool_make() {
	local flags name=${1##*/}
	if [[ $name == *.so ]]; then
		${CC:-cc} -shared -fPIC -O2 -o "$1/$name" "$GBE_LIB/${name%.so}.c"
	else
		read -ra flags < <(pkg-config --cflags --libs ostree-1)
		${CC:-cc} -o "$1/$name" "$GBE_LIB/$name.c" -Wl,--as-needed "${flags[@]}"
	fi
}
