#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The real etcdctl, started for the configured etcd.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

GBE=$(program greenboot-etcd)

# our ARGUMENT...: runs the command without --root, so that etcdctl is started. The configuration names the test's
# etcd.
our() { "$GBE" --config="$GBE_MEM/ours.conf" "$@"; }

configured() {
	a_green xfs
	printf '[etcd]\nendpoint=http://127.0.0.1:%s\nbinary=%s\n' "$ETCD_PORT" "${1:-/usr/bin/etcd}" \
		>"$GBE_MEM/ours.conf"
}

asks() {
	configured
	assert_exit 0 our etcdctl put --lease=0 "a key" "a value"
	assert_exit 0 our etcdctl get "a key" --print-value-only
	assert_eq "value" "$OUT" "a value"
	assert_exit 0 our etcdctl -- get --print-value-only "a key"
	assert_eq "value" "$OUT" "a value"
	# etcdctl's options, help and exit status are passed through.
	assert_exit 0 our etcdctl --help
	assert_match "help" "$OUT" "*A simple command line client for etcd*"
	assert_exit 0 our etcdctl get "a key" -w json
	assert_eq "json" "$(jq -r .count <<<"$OUT")" 1
	assert_exit 128 our etcdctl get
	# If a value is given twice, the argument counts.
	assert_exit 0 our etcdctl --endpoints="http://127.0.0.1:$ETCD_PORT" endpoint health
	assert_exit 1 our etcdctl --endpoints="http://127.0.0.1:1" --command-timeout=1s endpoint health
	# The caller's environment is ignored, and no secret is an argument that others could read.
	ETCDCTL_ENDPOINTS=http://127.0.0.1:1 ETCDCTL_API=2 \
		assert_exit 0 our etcdctl get "a key" --print-value-only
	assert_eq "value" "$OUT" "a value"
}

for_a_shell() {
	configured
	printf "cacert=/a b/'ca'.pem\n" >>"$GBE_MEM/ours.conf"
	assert_exit 0 our etcdctl --print-env
	assert_eq "lines" "$(wc -l <<<"$OUT")" 5
	(
		export ETCDCTL_KEY=old ETCDCTL_API=3
		eval "$OUT"
		assert_eq "endpoint" "$ETCDCTL_ENDPOINTS" "http://127.0.0.1:$ETCD_PORT"
		assert_eq "cacert" "$ETCDCTL_CACERT" "/a b/'ca'.pem"
		assert_eq "key" "${ETCDCTL_KEY-unset}" unset
		# etcdctl 3.6 and later warn about the variable, and earlier versions do not need it.
		assert_eq "api" "${ETCDCTL_API-unset}" unset
	)
	assert_exit 0 our --json etcdctl --print-env
	assert_eq "keys" "$(jq -c keys <<<"$OUT")" '["environment","schema"]'
	assert_eq "key" "$(jq .environment.ETCDCTL_KEY <<<"$OUT")" null
	assert_exit 2 our etcdctl --print-env more
}

refused() {
	configured "$GBE_MEM/bin/etcd"
	assert_exit 2 our etcdctl
	assert_match "stderr" "$ERR" "greenboot-etcd: etcdctl needs its argument*"
	assert_exit 5 gbe etcdctl get x
	assert_match "stderr" "$ERR" "*not started below --root*--print-env*"
	assert_exit 0 gbe etcdctl --print-env
	PATH=/nowhere assert_exit 1 our etcdctl get x
	assert_match "stderr" "$ERR" "greenboot-etcd: etcdctl is missing next to $GBE_MEM/bin/etcd*"
	# An etcdctl next to the configured etcd is preferred.
	mkdir -p "$GBE_MEM/bin"
	printf '#!/bin/sh\necho "mine: $*"\nexit 77\n' >"$GBE_MEM/bin/etcdctl"
	chmod +x "$GBE_MEM/bin/etcdctl"
	assert_exit 77 our etcdctl a -b --json
	assert_eq "stdout" "$OUT" "mine: a -b --json"
	: >"$GBE_MEM/bin/etcdctl"
	assert_exit 1 our etcdctl a
	assert_match "stderr" "$ERR" "*cannot start $GBE_MEM/bin/etcdctl*"
}

suite_begin "$@"
run_case etcdctl-asks asks
run_case etcdctl-for-a-shell for_a_shell
run_case etcdctl-refused refused
suite_end
