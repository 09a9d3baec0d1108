#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every --json output is checked against its schema, in many situations of a device. The keys of the contract are
# listed by name. The text has the same values.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# answers SCHEMA STATUS ARG...: checks the output of a verb and leaves it in OUT.
answers() {
	assert_exit "$2" gbe --json "${@:3}"
	fits "$1"
}

# Runs every verb that reads, whatever the situation.
ask_all() {
	answers status 0 status
	answers list 0 list
	answers list 0 list --exclusive
	answers log 0 log
	answers explain 0 explain
	answers config 0 config
	answers etcdctl 0 etcdctl --print-env
	OUT=$(<"$ROOT/run/greenboot-etcd/status.json")
	fits status-file
}

# The contract's keys are checked by name, as a schema without a key does not miss it.
keys() {
	local key

	a_green xfs
	stop_etcd
	gbe backup one -d text
	start_etcd
	gbe --json status >"$GBE_MEM/status"
	for key in schema booted run owner.deployment owner.run verdict health trial judged etcd.healthy \
		etcd.reason etcd.version etcd.revision etcd.db_size etcd.db_in_use etcd.alarms etcd.warnings data.path \
		data.size backups last_good last_operation.operation last_operation.result \
		last_operation.rule last_operation.reason last_operation.backup last_operation.started \
		last_operation.duration next.deployment next.rule next.action next.backup next.age \
		next.revision greenboot.flavour greenboot.enabled greenboot.boot_counter \
		greenboot.rollback_imminent; do
		jq -e "[paths | join(\".\")] + [paths(. == null) | join(\".\")] | index(\"$key\")" \
			"$GBE_MEM/status" >/dev/null || fail "status lacks $key"
	done
	gbe --json list >"$GBE_MEM/list"
	for key in name deployment run sequence grade verdict health created etcd_version revision \
		cluster_id member_id size exclusive method pinned set_aside consumed present description; do
		jq -e "all(.[]; has(\"$key\"))" "$GBE_MEM/list" >/dev/null || fail "list lacks $key"
	done
	jq -e '.[0].exclusive == null' "$GBE_MEM/list" >/dev/null
	gbe --json list --exclusive | jq -e '.[0].exclusive >= 0' >/dev/null
	gbe --json explain >"$GBE_MEM/explain"
	for key in rule also reason facts actions; do
		jq -e "has(\"$key\")" "$GBE_MEM/explain" >/dev/null || fail "explain lacks $key"
	done
	jq -e 'all(.actions[]; has("action") and has("name") and has("reason") and has("command"))' \
		"$GBE_MEM/explain" >/dev/null
}

story() {
	local name

	a_green "$1"
	ask_all
	assert_json .booted "${DEPLOYMENT[A]}" status
	assert_json .owner.deployment "${DEPLOYMENT[A]}" status
	assert_json .verdict green status
	assert_json .judged true status
	assert_json .etcd.healthy true status
	answers health 0 health
	answers preflight 0 preflight
	answers diagnose 0 diagnose /var/archive.tar.gz
	update B
	ask_all
	answers explain 0 explain --booted=staged
	assert_eq "rule" "$(jq -r .rule <<<"$OUT")" 11
	reboot
	started
	ask_all
	b_writes
	answers explain 0 explain --booted=rollback --verdict=red
	assert_eq "rule" "$(jq -r .rule <<<"$OUT")" 10a
	assert_ne "branches" "$(jq '.branches | length' <<<"$OUT")" 0
	answers explain 0 explain --verdict=red
	answers explain 0 explain --booted=0 --verdict=none --return=deliberate
	judge red
	ask_all
	stop_etcd
	answers health 6 health
	assert_json .etcd.healthy false status
	answers backup 0 backup -n
	answers backup 0 backup mine
	answers show 0 show mine
	assert_eq "manifest" "$(jq -r .manifest.name <<<"$OUT")" mine
	answers restore 0 restore -n mine
	answers restore 0 restore mine
	answers restore 0 undo
	answers request 0 restore --next-boot mine
	ask_all
	answers request 0 restore --cancel
	answers mark 0 mark bad mine
	answers mark 0 mark bad
	answers change 0 pin mine
	answers change 0 unpin mine
	answers change 0 delete mine
	answers prune 0 prune
	ask_all
	name=$(json '.[0].name' list)
	assert_json .name "$name" show "$name"
}

# A broken, missing or foreign value is null or a warning, never invalid output.
odd() {
	local store

	a_green ext4
	shutdown
	store=$ROOT/var/lib/greenboot-etcd/backups
	ask_all
	: >"$DATA/.greenboot-etcd-owner"
	ask_all
	rm -rf "$DATA"
	ask_all
	assert_json .data.size null status
	mkdir "$store/other" && : >"$store/other/manifest.json"
	ask_all
	assert_json '.warnings | length > 0' true status
	rm "$ROOT/run/ostree-booted"
	answers status 0 status
	assert_json .booted null status
	assert_json .next.rule 1 status
	rm "$ROOT/proc/sys/kernel/random/boot_id"
	answers status 0 status
	assert_json .run null status
	rm -rf "$ROOT/ostree"
	ask_all
	rm -rf "$ROOT/var/lib/greenboot-etcd"
	answers status 0 status
	answers list 0 list
	answers preflight 5 preflight
	greenboot_install none
	answers status 0 status
	assert_json .greenboot.flavour none status
	assert_json .judged false status
}

# Names and reasons are free text: no control character reaches the terminal.
harmless() {
	local verb

	a_green xfs
	stop_etcd
	gbe backup one -d $'bell \a and \e[31mred'
	gbe backup two -d $'\xc2\x9b31m and \xe2\x80\xaeback'
	hook green >&2
	for verb in list "--json list" "show two" "--json show two"; do
		# shellcheck disable=SC2086
		! gbe $verb | LC_ALL=C grep -a -P '\xc2[\x80-\x9f]|\xe2\x80\xae' || fail "$verb steers a terminal"
	done
	assert_eq "status.json" "$(jq -r '.list[] | select(.name == "two").description' \
		"$ROOT/run/greenboot-etcd/status.json")" "?31m and ?back"
	gbe delete two
	gbe list | grep -q $'\e' && fail "an escape sequence in list"
	gbe show one | grep -q $'[\a\e]' && fail "an escape sequence in show"
	answers list 0 list
	assert_eq "description" "$(jq -r '.[0].description' <<<"$OUT")" $'bell \a and \e[31mred'
}

if ! python3 -c 'import jsonschema' 2>/dev/null; then
	echo "skip cli-json: python3-jsonschema is not installed (make deps)"
	exit 0
fi
suite_begin "$@"
run_case json-keys keys
for kind in $(kinds "xfs ext4" btrfs-subvol); do
	run_case "json-story@$kind" story "$kind"
done
run_case json-odd odd
run_case json-harmless harmless
suite_end
