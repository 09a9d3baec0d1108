# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Starting points that many cases share. They are made once for all suites, below BUILD/prepared, and again if one of
# their sources is newer. Sourced after scratch.sh.

GBE_PREPARED=$BUILD/prepared

# prepared NAME MAKER PART...: sets PREPARED to the directory NAME, which MAKER DIRECTORY has filled.
prepared() {
	local directory=$GBE_PREPARED/$1
	up_to_date "$directory/done" "${@:3}" || (
		set -e
		mkdir -p "$GBE_PREPARED"
		exec {lock}>"$directory.lock"
		flock "$lock"
		! up_to_date "$directory/done" "${@:3}" || exit 0
		# A killed maker may have left a deployment, which ostree makes immutable.
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

# prepared_tool NAME|NAME.so: compiles a program of tests/lib.
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
