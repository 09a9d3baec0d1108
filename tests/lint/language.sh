#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The English of what people read, by language.words: pages, man pages, the catalog, the examples, the page of Cockpit,
# and messages and comments of the sources, units and tests in C. language.allow has the exceptions, each with a reason.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

english() {
	python3 tests/lint/language.py "$@"
}

mapfile -t texts < <(files README.md CONTRIBUTING.md NEWS.md 'docs/*.md' 'data/man/*.[1-8]' data/greenboot-etcd.catalog \
	'data/examples/*.conf' data/image/50-site.conf 'data/cockpit/**/*.js' 'data/cockpit/**/*.html' \
	'src/*.[ch]' 'hooks/*' 'tests/*.[ch]')
check_each language english "${texts[@]}"
printf 'Whoever asks, nobody can be told anew.\n' >"$scratch/bad.md"
[ "$(english "$scratch/bad.md" | wc -l)" -ge 4 ] && ok language-can-fail || not_ok language-can-fail "a bad sentence passed"
printf 'const title = _("Whoever asks, nobody can be told anew.");\n' >"$scratch/bad.js"
printf '<p title="Nobody goes on.">A page of all, too</p>\n' >"$scratch/bad.html"
[ "$(english "$scratch/bad.js" | wc -l)" -ge 4 ] && [ "$(english "$scratch/bad.html" | wc -l)" -ge 3 ] &&
	ok language-page-can-fail || not_ok language-page-can-fail "a bad sentence of the page passed"
finish
