#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The JSON schemas are schemas. (That the programs' output fits them is for the integration tests.)
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
for schema in "${schemas[@]}"; do
	check "schema-${schema##*/}" "$(python3 - "$schema" 2>&1 <<'PYTHON' | tail -n 1
import json, sys
from jsonschema.validators import validator_for

schema = json.load(open(sys.argv[1]))
if "$schema" not in schema:
    print("names no $schema version")
validator_for(schema).check_schema(schema)
PYTHON
)"
done
finish
