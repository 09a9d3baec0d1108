#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The JSON schemas are schemas, and are made from the tables of the answers (make schemas). The integration tests compare
# the output of the programs with them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

mapfile -t schemas < <(files 'data/schema/*.json')
if [ ${#schemas[@]} -eq 0 ]; then
	ok schemas-none-yet
	finish
fi
if ! python3 -c 'import jsonschema' 2>/dev/null; then
	skip schemas "python3-jsonschema is not installed: make deps"
	finish
fi
# "NAME: what is wrong", of each file that is not a valid schema.
complaints() {
	python3 - "$@" <<-'PYTHON'
		import json, os, sys
		from jsonschema.validators import validator_for

		for path in sys.argv[1:]:
		    try:
		        with open(path) as file:
		            schema = json.load(file)
		        if "$schema" not in schema:
		            raise ValueError("names no $schema version")
		        validator_for(schema).check_schema(schema)
		    except Exception as error:
		        print("%s: %s" % (os.path.basename(path), str(error).splitlines()[0]))
	PYTHON
}
found=$(complaints "${schemas[@]}" 2>&1)
for schema in "${schemas[@]}"; do
	check "schema-${schema##*/}" "$(grep "^${schema##*/}: " <<<"$found")"
done
# shellcheck disable=SC2016 # $schema is no variable
echo '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "none"}' >"$scratch/none.json"
[[ $(complaints "$scratch/none.json") == "none.json: "* ]] && ok schemas-can-fail || not_ok schemas-can-fail "a type that there is not was not found"

# differences DIRECTORY: "NAME: why" of each file that differs from its table.
differences() {
	python3 tests/schemas/merge.py --check "$scratch/answers.json" "$1"
}
if [ ! -x "$BUILD/tests/schemas/answers" ]; then
	skip schemas-of-tables "optional programs are not built"
	finish
fi
"$BUILD/tests/schemas/answers" >"$scratch/answers.json" || not_ok schemas-of-tables "the tables cannot be printed"
check schemas-of-tables "$(differences data/schema)"
cp -r data/schema "$scratch/other"
sed -i 's/"boolean"/"integer"/' "$scratch/other/status.json"
echo '{}' >"$scratch/other/unlisted.json"
[ "$(differences "$scratch/other" | grep -c -e '^status.json: differs' -e '^unlisted.json: ')" -eq 2 ] && ok schemas-of-tables-can-fail ||
	not_ok schemas-of-tables-can-fail "a schema that differs from its table was not found"
finish
