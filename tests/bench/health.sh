# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with run and the others
#
# One check of etcd's health over mutual TLS, compared with `etcdctl endpoint health`, which makes one request. Sourced.

part_health() {
	local n pki first again
	local ctl=("$ETCDCTL")

	bench_device xfs
	pki=$ROOT/etc/pki
	etcd_over_tls "$pki" 2>"$GBE_MEM/err"
	# prerun runs before etcd, as on a device.
	"$(program prerun)" --root="$ROOT" 2>"$GBE_MEM/err"
	start_etcd "${ETCD_OPTIONS[@]}"
	config etcd endpoint="$ETCD_TLS" cacert=/etc/pki/ca.crt cert=/etc/pki/client.crt key=/etc/pki/client.key
	ctl+=(--endpoints="$ETCD_TLS" --cacert="$pki/ca.crt" --cert="$pki/client.crt" --key="$pki/client.key"
		endpoint health)
	note "etcd's health"
	samples_begin
	for ((n = 0; n < 4 * N + 1; n++)); do
		WARM=$([[ $n != 0 ]] || echo yes)
		timed "${GBE[@]}" health
		sample health.ours "$TOOK"
		sample health.ours.cpu "$CPU"
		timed "${ctl[@]}"
		sample health.etcdctl "$TOOK"
		sample health.etcdctl.cpu "$CPU"
		read -r first again < <("$TOOLS/health-probe" 20 "$ETCD_TLS" "$pki/ca.crt" \
			"$pki/client.crt" "$pki/client.key")
		sample health.first "$first"
		sample health.again "$again"
	done
	WARM=
	add_row health "$(ms "$(median health.ours)")" "$(ms "$(median health.ours.cpu)")" \
		"$(ms "$(median health.etcdctl)")" "$(ms "$(median health.etcdctl.cpu)")" \
		"$(ratio "$(median health.ours)" "$(median health.etcdctl)")" \
		"$(ms "$(median health.first)")" "$(ms "$(median health.again)")" "$(count_of health.ours)"
	loses "one check, compared with etcdctl endpoint health" \
		"$(ratio "$(median health.ours)" "$(median health.etcdctl)")"
	limit "one check over mutual TLS" "$(ms "$(median health.ours)")" 20 ms
	limit "a check on an open connection" "$(ms "$(median health.again)")" 3 ms
	memory_of "health, over mutual TLS" "${GBE[@]}" health
	ETCD_OPTIONS=()
	stop_etcd
	root_free
}
