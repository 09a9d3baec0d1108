#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each MESSAGE_ID of the programs has one entry in the journal catalog, and each entry has a MESSAGE_ID. Each entry has
# the fields that journalctl -x needs, and journalctl can read the file.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

catalog=data/greenboot-etcd.catalog
source=src/sys/systemd/events.h
guide=data/man/greenboot-etcd-guide.7

for path in "$catalog" "$source" "$guide"; do
	if [ ! -f "$path" ]; then
		not_ok catalog "$path is not there"
		finish
	fi
done

# 32 hex digits in a row, with or without systemd's SD_ID128_MAKE commas.
grep -vE '^[[:space:]]*/?\*' $source | tr -d ', ' | grep -oE '(^|[^0-9a-f])[0-9a-f]{32}([^0-9a-f]|$)' |
	grep -oE '[0-9a-f]{32}' | sort >"$scratch/sent"
grep -E '^-- ' $catalog | awk '{ print $2 }' | sort >"$scratch/described"

[ -s "$scratch/sent" ] && ok catalog-ids-found || not_ok catalog-ids-found "$source names no MESSAGE_ID"
check catalog-ids-unique "$(uniq -d "$scratch/sent")$(uniq -d "$scratch/described")"
check catalog-every-id-described "$(comm -23 "$scratch/sent" "$scratch/described")"
check catalog-no-stale-entry "$(comm -13 "$scratch/sent" "$scratch/described")"
# The administrator's guide also has each of them.
sed -n '/^\.SH EVENTS/,/^\.SH ETCD/s/^\.B \([0-9a-f]\{32\}\)$/\1/p' $guide | sort >"$scratch/guided"
check guide-every-id "$(comm -3 "$scratch/described" "$scratch/guided" | tr -d '\t')"
check guide-ids-unique "$(uniq -d "$scratch/guided")"
check catalog-entry-shape "$(awk '
	function end() {
		if (id == "") return
		if (!subject) print id " has no Subject:"
		if (!by) print id " has no Defined-By:"
		if (!text) print id " has no text"
	}
	/^-- / { end(); id = $2; subject = by = text = body = 0; next }
	id != "" && !body && /^Subject: ./ { subject = 1; next }
	id != "" && !body && /^Defined-By: greenboot-etcd$/ { by = 1; next }
	id != "" && /^$/ { body = 1; next }
	id != "" && body { text = 1 }
	END { end() }' $catalog)"

# Each page of this project that the catalog and the units name exists.
check pages-named "$(files 'data/*.catalog' 'hooks/*.service' 'hooks/*.path' 'hooks/*.timer' 'dracut/*' |
	while IFS= read -r path; do
		grep -oE 'man:greenboot-etcd[a-z.-]*\([0-9]\)' "$path" | sort -u | while IFS= read -r page; do
			name=${page#man:} section=${page: -2:1}
			[ -e "data/man/${name%(*}.$section" ] || echo "$path: $page"
		done
	done)"

if command -v journalctl >/dev/null; then
	mkdir -p "$scratch/root/usr/lib/systemd/catalog" "$scratch/root/var/lib/systemd/catalog"
	cp $catalog "$scratch/root/usr/lib/systemd/catalog/"
	if complaint=$(journalctl --root="$scratch/root" --update-catalog 2>&1); then
		compiled=$(journalctl --root="$scratch/root" --list-catalog 2>/dev/null | wc -l)
		[ "$compiled" -ge "$(wc -l <"$scratch/described")" ] || complaint="journalctl knows only $compiled entries"
		check catalog-compiles "$(grep -iE 'fail|error|invalid|only' <<<"$complaint")"
	else
		not_ok catalog-compiles "$complaint"
	fi
fi
finish
