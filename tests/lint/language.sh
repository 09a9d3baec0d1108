#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The English of all texts of the tree, by language.words: pages, messages, comments and descriptions. language.py reads
# each kind of file as people do, and language.allow has the exceptions, each with a reason.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

english() {
	python3 tests/lint/language.py "$@"
}

# Samples, output of the demo, pictures and the lists of this check are not texts of people.
mapfile -t texts < <(
	files '*' | grep -vE '^LICENSE$|^tests/(data|fuzz|demo/terminal\.txt)|\.(svg|png|words|allow)$'
	files 'tests/data/*.md' 'tests/fuzz/*.[ch]'
)
check_each language english "${texts[@]}"

# The guard guards: the same bad sentence is found in each kind of file.
bad="Whoever asks, nobody can be told anew."
while IFS='|' read -r name line; do
	mkdir -p "$scratch/${name%/*}"
	printf '%b\n' "${line//BAD/$bad}" >"$scratch/$name"
	[ "$(english "$scratch/$name" | wc -l)" -ge 3 ] && ok "language-can-fail-$name" ||
		not_ok "language-can-fail-$name" "a bad sentence passed"
done <<'KINDS'
page/page.md|BAD
page/page.8|.SH NAME\nBAD
page/page.html|<p title="BAD">Status</p>
page/title.js|const title = _("BAD");
source/comment.c|/* BAD */
source/message.c|const char *message = "BAD";
script/comment.sh|# BAD
script/at-end.sh|true # BAD
script/message.sh|echo "BAD"
script/quoted.sh|not_ok name 'BAD'
script/python.py|# BAD
script/docstring.py|"""BAD"""
build/Makefile|# BAD
build/target/Makefile|## target: BAD
package/greenboot-etcd.spec|%description\nBAD
package/summary.spec|Summary:        BAD
package/control|Description: package\n BAD
package/unit.service|# BAD
package/described.service|[Unit]\nDescription=BAD
package/answer.json|{\n  "description": "BAD"\n}
package/alerts.yml|  summary: "BAD"
package/module.cil|; BAD
KINDS
finish
