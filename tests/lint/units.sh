#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# systemd accepts the units, as they are installed; what a unit starts is there.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

mapfile -t units < <(files 'hooks/*.service' 'hooks/*.path' 'hooks/*.timer' 'hooks/*.target')
if [ ${#units[@]} -eq 0 ]; then
	ok units-none-yet
	finish
fi
if ! command -v systemd-analyze >/dev/null; then
	skip units "systemd-analyze is not installed: make deps"
	finish
fi

root=$scratch/root
MAKEFLAGS='' make --no-print-directory -s install DESTDIR="$root" >"$scratch/log" 2>&1 || {
	not_ok units "make install failed: $(tail -n 3 "$scratch/log" | tr '\n' ';')"
	finish
}
# The targets that units refer to come from this machine's systemd.
for directory in /usr/lib/systemd/system /lib/systemd/system; do
	[ -d $directory ] || continue
	cp -rn $directory/. "$root/usr/lib/systemd/system/"
	break
done
for unit in "${units[@]}"; do
	name=${unit##*/}
	while IFS= read -r program; do
		[ -x "$root$program" ] || not_ok "unit-starts-$name" "$program is not installed"
	done < <(grep -oE '^Exec[A-Za-z]*=[-@:+!]*[^ ]+' "$unit" | sed 's/^[^=]*=[-@:+!]*//')
	case $name in
	*@.*) name=${name/@./@x.} ;;
	esac
	check "unit-${unit##*/}" "$(systemd-analyze verify --root="$root" --man=no --recursive-errors=no \
		"$root/usr/lib/systemd/system/$name" 2>&1 | grep -F "${unit##*/}")"
done
finish
