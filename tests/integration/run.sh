#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run: a real etcd as a transient unit of a service that needs it, in a container that a real systemd boots. Each case
# runs a script there. Its last word must be in the journal.

# shellcheck disable=SC2317,SC2119,SC2120 # cases are called by name; arguments that are optional
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

# device [SETTING...]: makes a service that starts etcd, is ready when etcd answers, and is the configured service.
# SETTINGs are of [Service]. The cases start it.
device() {
	local etc
	container_device
	deploy A
	populate A ". /etc/scene"
	etc=$(deployment_dir A)/etc
	rm "$etc"/systemd/system/etcd.service "$etc"/systemd/system/multi-user.target.wants/etcd.service
	mkdir -p "$etc/greenboot-etcd"
	printf '[etcd]\nservice=app.service\n[health]\nmonitor=0\n' >"$etc/greenboot-etcd/greenboot-etcd.conf"
	cat >"$etc/systemd/system/app.service" <<-EOF2
		[Unit]
		StartLimitIntervalSec=0
		[Service]
		Type=notify
		NotifyAccess=all
		Environment=ETCDCTL_API=3 PATH=/usr/local/bin:/usr/bin:/usr/sbin
		ExecStart=/bin/bash -eu /etc/app
		$(printf '%s\n' "$@")
	EOF2
	cat >"$etc/app" <<-'EOF2'
		. /etc/arguments
		greenboot-etcd run -- "${etcd[@]}"
		etcdctl put k app
		systemd-notify --ready
		exec sleep infinity
	EOF2
	cat >"$etc/arguments" <<-EOF2
		etcd=($(command -v "$ETCD") --data-dir=/var/lib/etcd/default --logger=zap
			--log-outputs=stderr --heartbeat-interval=10 --election-timeout=100)
	EOF2
	cat >"$etc/words" <<-'EOF2'
		set -eu
		. /etc/arguments
		UNIT=greenboot-etcd-member.service
		wrong() {
			echo "scene broke at line $1: $2"
			systemctl --no-pager status "$UNIT" app.service || true
		}
		trap 'wrong "$LINENO" "$BASH_COMMAND"' ERR
		set -E
		soon() {
			local n
			for ((n = 0; n < 300; n++)); do
				! "$@" || return 0
				sleep 0.2
			done
			echo "never: $*"
			return 1
		}
		state() { systemctl show -P ActiveState "${1:-$UNIT}"; }
		pid() { systemctl show -P MainPID "${1:-$UNIT}"; }
		answers() { etcdctl --command-timeout=1s get k >/dev/null 2>&1; }
		up() { [[ $(state) == active ]] && answers; }
		down() { [[ $(state) == inactive && ! $(pgrep -x etcd) ]] && ! answers; }
		collected() { [[ $(systemctl show -P LoadState "$UNIT") == not-found ]]; }
		app_is() { [[ $(state app.service) == "$1" ]]; }
		not() { # "!" would end nothing
			if "$@"; then
				echo "status 0, not another: $*"
				return 1
			fi
		}
		# ends STATUS PATTERN COMMAND...: expects that status and message.
		ends() {
			local want=$1 pattern=$2 rc=0
			shift 2
			"$@" >/run/out 2>&1 || rc=$?
			cat /run/out
			# shellcheck disable=SC2053 # a pattern
			[[ $rc == "$want" && $(cat /run/out) == $pattern ]] && return
			echo "status $rc, not $want, or not $pattern: $*"
			return 1
		}
		# as_app COMMAND...: runs COMMAND in a running service, which is then the caller's unit.
		as_app() {
			systemd-run --quiet --wait --pipe --collect --unit=other \
				-p Environment="PATH=$PATH ETCDCTL_API=3" "$@"
		}
	EOF2
}

# scene [OPTION of systemd-nspawn...]: runs the commands of stdin there.
scene() {
	local etc
	etc=$(deployment_dir A)/etc
	{
		echo '. /etc/words'
		cat
		echo 'echo "scene passed"'
	} >"$etc/scene"
	run A "$@"
	grep -q "scene passed" "$LOG" || fail "$(grep -m 1 -o 'scene broke.*\|never:.*\|status .* not .*' "$LOG" ||
		echo "the scene did not come to its end")"
}

# The scene's results in /var/json match the schema.
json_fits() {
	python3 - "$GBE_TOP/data/schema/run.json" "$VAR"/json/* <<-'EOF2'
		import json, sys
		import jsonschema

		schema = json.load(open(sys.argv[1]))
		for path in sys.argv[2:]:
		    jsonschema.Draft7Validator(schema).validate(json.load(open(path)))
	EOF2
}

# A parent that is still starting waits for etcd, and reports that it is ready after that.
starts() {
	device
	scene <<-'EOF2'
		time systemctl start app.service
		up
		[[ $(etcdctl get k --print-value-only) == app ]]
		[[ $(systemctl show -P BindsTo "$UNIT") == app.service ]]
		[[ " $(systemctl show -P Before "$UNIT") " == *" app.service "* ]]
		[[ " $(systemctl show -P After "$UNIT") " != *" app.service "* ]]
		# etcd has its own journal, and no process of ours stays.
		journalctl --sync
		journalctl -q -u "$UNIT" | grep -q "serving client traffic"
		not pgrep -a greenboot-etcd
		[[ $(systemctl show -P Environment "$UNIT") == *ETCD_QUOTA_BACKEND_BYTES=2147483648* ]]
		etcdctl endpoint status -w json
		# The unit is bound to the configured service, so it is that service's etcd.
		[[ $(greenboot-etcd status) != *"has etcd's data open"* ]]
		# prerun knows the owner of the data: the second start finds the data of the first.
		systemctl restart app.service
		greenboot-etcd status -v | tee /dev/stderr | grep "Owner *this deployment, run this run"
	EOF2
	in_order "Finished greenboot-etcd-prerun" "Started $UNIT_TEXT" "Started app.service" "scene passed" \
		"Stopped app.service" "Stopped $UNIT_TEXT" "finalize.*was closed" "Stopped greenboot-etcd-finalize"
}
UNIT_TEXT='greenboot-etcd-member.service - etcd of app.service'

parent_killed() {
	device
	scene <<-'EOF2'
		systemctl start app.service
		up
		kill -KILL "$(pid app.service)"
		soon down
		soon collected
		app_is failed
		# Repeated; then while etcd still waits for prerun.
		systemctl start app.service
		up
		systemctl stop app.service
		soon collected
		install -d /run/systemd/system/greenboot-etcd-prerun.service.d
		printf '[Service]\nExecStartPre=/bin/sleep 1\n' \
			>/run/systemd/system/greenboot-etcd-prerun.service.d/slow.conf
		systemctl daemon-reload
		systemctl start --no-block app.service
		waits() { [[ $(state) == inactive && $(systemctl show -P Job "$UNIT") -gt 0 ]]; }
		soon waits
		app_is activating
		kill -KILL "$(pid app.service)"
		sleep 2
		soon collected
		soon down # prerun asks etcd for its version
		app_is failed
		systemd-run --quiet --unit=other -p Type=exec sleep infinity
		greenboot-etcd run --no-block --parent=other -- "${etcd[@]}"
		soon waits
		systemctl kill --signal=KILL other
		sleep 2
		soon collected
		soon down # prerun asks etcd for its version
	EOF2
}

parent_stopped() {
	device
	scene <<-'EOF2'
		systemctl start app.service
		up
		systemctl stop app.service
		soon down
		soon collected
		systemctl start app.service
		old=$(pid)
		systemctl restart app.service
		up
		[[ $(pid) != "$old" ]]
		# The parent exits.
		systemctl kill --signal=TERM --kill-who=main app.service
		soon down
		soon collected
	EOF2
}

etcd_killed() {
	device
	scene <<-'EOF2'
		systemctl start app.service
		up
		old=$(pid) app=$(pid app.service)
		kill -KILL "$old"
		back() { up && [[ $(pid) != "$old" ]]; }
		soon back
		[[ $(pid app.service) == "$app" && $(etcdctl get k --print-value-only) == app ]]
		app_is active
		# etcd cannot start any more: systemd gives up, and the unit is collected. The parent decides about
		# the next step.
		head -c 400 /dev/zero | tr '\0' x |
			dd of="$(ls /var/lib/etcd/default/member/wal/*.wal)" bs=1 seek=100 conv=notrunc
		kill -KILL "$(pid)"
		soon collected
		app_is active
	EOF2
	assert_eq "prerun's runs" "$(($(grep -c "Finished greenboot-etcd-prerun" "$LOG") > 2))" 1
}

stopped_by_hand() {
	device
	scene <<-'EOF2'
		systemctl start app.service
		up
		systemctl stop "$UNIT"
		down
		sleep 2
		down
		collected
		app_is active
		systemctl restart app.service
		up
	EOF2
}

# The second call finds the unit, also while it is still starting. A third call at the same time also waits.
twice() {
	device
	mkdir "$VAR/json"
	scene <<-'EOF2'
		systemctl start app.service
		old=$(pid)
		ends 0 "*Already running: $UNIT, bound to app.service: /var/lib/etcd/default, at *" \
			greenboot-etcd run --parent=app -- "${etcd[@]}"
		ends 0 "*\"adopted\"*" greenboot-etcd run --json --parent=app.service -- "${etcd[@]}" \
			--listen-client-urls=http://localhost:2379/
		[[ $(jq -r .result /run/out) == adopted && $(jq -r .replaced /run/out) == null ]]
		[[ $(pid) == "$old" ]]
		# The etcd of another parent is refused.
		systemd-run --quiet --unit=other -p Type=exec sleep infinity
		ends 0 "*Stopped $UNIT: it belongs to another unit.*Started $UNIT, bound to other.service*" \
			greenboot-etcd run --parent=other -- "${etcd[@]}"
		up
		[[ $(pid) != "$old" && $(systemctl show -P BindsTo "$UNIT") == other.service ]]
		systemctl stop other
		soon collected
		# Many calls at once: one starts etcd, and all return when it is up.
		systemd-run --quiet --unit=other -p Type=exec sleep infinity
		for n in 1 2 3 4; do
			{
				greenboot-etcd run --json --parent=other -- "${etcd[@]}" >/run/out.$n 2>/run/err.$n
				answers && echo up >>/run/up
			} &
		done
		wait
		cat /run/out.? /run/err.?
		[[ $(jq -r .result /run/out.? | sort | uniq -c | tr -s ' \n' ' ') == " 3 adopted 1 started " ]]
		[[ $(wc -l </run/up) == 4 ]]
		cp /run/out.? /var/json
		systemctl stop other
		soon collected
		# A parent that starts early does not wait for units that wait for it.
		systemd-run --quiet --unit=other -p Type=exec -p DefaultDependencies=no sleep infinity
		ends 0 "{*\"queued\"*" greenboot-etcd run --no-block --json --parent=other -- "${etcd[@]}"
		cp /run/out /var/json
		[[ $(systemctl show -P DefaultDependencies "$UNIT") == no ]]
		soon up
		systemctl stop other
		soon collected
		# A scope is also a unit.
		systemd-run --quiet --scope --unit=job --collect -- bash -eu -c \
			'greenboot-etcd run -q -- "$@"; sleep infinity' - "${etcd[@]}" &
		soon up
		[[ $(systemctl show -P BindsTo "$UNIT") == job.scope ]]
		systemctl kill --signal=KILL job.scope
		soon down
		soon collected
	EOF2
	json_fits
}

# A parent is killed while it starts, and started again at once. It gets a new etcd with the new options, also if the
# old one hangs. An etcd that an older program left unbound is stopped.
leftover() {
	device "Restart=always" "RestartSec=100ms"
	scene <<-'EOF2'
		printf '%s\n' '. /etc/arguments' 'greenboot-etcd run -- "${etcd[@]}"' \
			'exec sleep infinity' >/etc/app
		another() { [[ $(pid) != "$old" && $(pgrep -cx etcd) == 1 ]] && up; }
		install -d "/etc/systemd/system/$UNIT.d"
		printf '[Service]\nTimeoutStopSec=2s\n' >"/etc/systemd/system/$UNIT.d/site.conf"
		systemctl daemon-reload
		systemctl start --no-block app.service
		soon up
		app_is activating
		before=("${etcd[@]}")
		old=$(pid)
		sed -i 's/--logger/--listen-client-urls=http:\/\/127.0.0.1:3379 \
			--advertise-client-urls=http:\/\/127.0.0.1:3379 &/' /etc/arguments
		kill -KILL "$(pid app.service)"
		export ETCDCTL_ENDPOINTS=http://127.0.0.1:3379
		soon another
		not etcdctl --endpoints=http://127.0.0.1:2379 --command-timeout=1s get k
		old=$(pid)
		kill -STOP "$old"
		kill -KILL "$(pid app.service)"
		soon another
		[[ $(systemctl show -P BindsTo "$UNIT") == app.service ]]
		systemctl stop app.service
		soon collected
		systemd-run --quiet --collect --unit="$UNIT" -p Type=notify "${before[@]}"
		old=$(pid)
		systemctl start --no-block app.service
		soon another
		journalctl --sync
		journalctl -q -u app.service | grep "Stopped $UNIT: it belongs to another unit"
	EOF2
}

# Outside of a unit: prerun runs first, and etcd then replaces the program.
development() {
	device
	scene <<-'EOF2'
		# Each call has a session of its own: the last scope may not have been collected yet.
		sessions=1
		shell() { systemd-run --quiet --scope --unit="session-c$((++sessions))" --collect -- "$@"; }
		systemd-run --quiet --scope --unit=session-c1 --collect -- \
			greenboot-etcd run -- "${etcd[@]}" &
		shell=$!
		soon answers
		[[ $(readlink "/proc/$shell/exe") == "$(readlink -f "$(command -v "${etcd[0]}")")" ]]
		[[ $(tr '\0' ' ' <"/proc/$shell/environ") == *ETCD_QUOTA_BACKEND_BYTES=2147483648* ]]
		jq -e ".held == false" /run/greenboot-etcd/prerun-done
		collected
		# Another program listens there.
		ends 1 "*bind: address already in use*did not get ready*" \
			greenboot-etcd run --parent=person.service -- "${etcd[@]}"
		# A signal goes to etcd, and the status is etcd's.
		rc=0
		kill -TERM "$shell"
		wait "$shell" || rc=$?
		[[ $rc == 143 || $rc == 0 ]]
		ends 2 "*flag provided but not defined: -nonsense*" shell greenboot-etcd run -- etcd \
			--data-dir=/var/lib/etcd/default --nonsense
		# A developer's data. The program is named by a path, found in PATH, or is next to the calling one.
		install -m 0755 /dev/stdin /run/my-etcd <<-'EOF3'
			#!/bin/sh
			echo "mine: $*"
			exit 77
		EOF3
		cd /run
		cp /bin/bash /run/caller
		ends 77 "mine: --name=x" shell greenboot-etcd run -- ./my-etcd --name=x
		PATH=$PATH:/run ends 77 "mine: --name=y" shell greenboot-etcd run -- my-etcd --name=y
		ends 77 "mine: --name=z" shell /run/caller -c 'greenboot-etcd run -- my-etcd --name=z; exit $?'
		ends 1 "*program my-etcd is missing*" shell greenboot-etcd run -- my-etcd
		# Without -- and a directory, a typo would make an etcd with its data in /run.
		PATH=$PATH:/run ends 2 "*in no service*current directory*" shell greenboot-etcd run my-etcd
		PATH=$PATH:/run ends 2 "*in no service*current directory*" shell greenboot-etcd run ./my-etcd
		ETCD_DATA_DIR=/run/d ends 77 "mine: *" shell greenboot-etcd run ./my-etcd
	EOF2
}

# A wrong name, a missing parent, a used port: etcd does not run, and one line says why.
refused() {
	device
	mkdir "$VAR/json"
	scene <<-'EOF2'
		systemd-run --quiet --unit=other -p Type=exec sleep infinity
		ours=(greenboot-etcd run --parent=other)
		ends 2 "*run needs etcd and its arguments*" "${ours[@]}"
		ends 2 "*--name: \"a/b\" is not the name*" "${ours[@]}" --name=a/b -- "${etcd[@]}"
		ends 2 "*--name: a.scope is not the name of a service*" "${ours[@]}" --name=a.scope -- "${etcd[@]}"
		ends 2 "*--parent: \"x y\" is not the name*" greenboot-etcd run --parent="x y" -- "${etcd[@]}"
		ends 2 "*its own parent*" "${ours[@]}" --name=other -- "${etcd[@]}"
		ends 2 "*--timeout*" "${ours[@]}" --timeout=soon -- "${etcd[@]}"
		ends 2 "*UTF-8*" "${ours[@]}" -- "${etcd[@]}" --name=$'\xff'
		ends 2 "*/nowhere*" "${ours[@]}" --config=/nowhere -- "${etcd[@]}"
		ends 1 "*there is no unit nobody.service*" greenboot-etcd run --parent=nobody -- "${etcd[@]}"
		ends 1 "*program nothing is missing next to*" "${ours[@]}" -- nothing
		ends 1 "*program /etc/passwd is missing*" "${ours[@]}" -- /etc/passwd
		ends 5 "*app.service is inactive*start it first*" greenboot-etcd run --parent=app -- "${etcd[@]}"
		ends 5 "*not started below --root*" "${ours[@]}" --root=/etc -- "${etcd[@]}"
		ends 5 "*protected is /var/lib/etcd:*" "${ours[@]}" -- etcd --data-dir=/srv/etcd
		ends 5 "*unit app.service already exists*" "${ours[@]}" --name=app -- "${etcd[@]}"
		# Another program listens on that port.
		systemd-run --quiet --unit=holder -p Type=exec python3 -c \
			'import socket, time; s = socket.create_server(("127.0.0.1", 2380)); time.sleep(600)'
		soon grep -q :094C /proc/net/tcp
		ends 1 "*127.0.0.1:2380: bind: address already in use*did not get ready*" \
			"${ours[@]}" -- "${etcd[@]}"
		collected
		systemctl stop holder
		# The caller is not root.
		ends 1 "*cannot start*" setpriv --reuid=etcd --regid=etcd --clear-groups \
			"${ours[@]}" -- "${etcd[@]}"
		# etcd ends at once: its last message is printed, and no unit that would restart it is left.
		ends 1 "*nonsense*did not get ready*" "${ours[@]}" -- "${etcd[@]}" --nonsense
		collected
		sleep 2
		collected
		ends 1 "*" "${ours[@]}" --json -- "${etcd[@]}" --nonsense
		grep -v "^greenboot-etcd" /run/out >/var/json/failed
		jq -e '.result == "failed" and
			(.log | map(test("nonsense")) | any) and (.reason | test("did not get ready"))' /var/json/failed
		# etcd never gets ready.
		install -m 0755 /dev/stdin /run/etcd <<<$'#!/bin/sh\nexec sleep 100'
		ends 1 "*did not get ready*" "${ours[@]}" --timeout=1s -- /run/etcd "${etcd[@]:1}"
		collected
		[[ ! -e /var/lib/etcd/default ]]
		# prerun holds etcd back.
		install -d /run/systemd/system/greenboot-etcd-prerun.service.d
		printf '[Service]\nExecStart=\nExecStart=/bin/false\n' \
			>/run/systemd/system/greenboot-etcd-prerun.service.d/no.conf
		systemctl daemon-reload
		ends 1 "*what $UNIT needs did not start*" "${ours[@]}" -- "${etcd[@]}"
		[[ ! -e /var/lib/etcd/default ]]
		# With prerun masked, etcd starts without it.
		systemctl mask --runtime greenboot-etcd-prerun.service
		ends 0 "*starts without prerun: greenboot-etcd-prerun.service is masked*Started $UNIT*" \
			"${ours[@]}" -- "${etcd[@]}"
		up
	EOF2
	json_fits
}

# An update without a backup holds etcd back, and run prints prerun's message.
held() {
	device
	scene <<-'EOF2'
		systemctl start app.service
		up
	EOF2
	deploy B
	populate B ". /etc/scene"
	cp -a "$(deployment_dir A)/etc/." "$(deployment_dir B)/etc/"
	printf '[backup]\non-upgrade-failure=refuse\ndirectory=/proc/nowhere\n' \
		>>"$(deployment_dir B)/etc/greenboot-etcd/greenboot-etcd.conf"
	cat >"$(deployment_dir B)/etc/scene" <<-'EOF2'
		. /etc/words
		systemd-run --quiet --unit=other -p Type=exec sleep infinity
		ends 5 "*prerun holds etcd back: *" greenboot-etcd run --parent=other -- "${etcd[@]}"
		collected
		ends 5 "*prerun holds etcd back: *" systemd-run --quiet --scope --unit=session-c1 --collect -- \
			greenboot-etcd run -- "${etcd[@]}"
		echo "scene passed"
	EOF2
	run B
	grep -q "scene passed" "$LOG" || fail "$(grep -m 1 -o 'scene broke.*\|status .* not .*' "$LOG")"
}

# [run], and --stop with a parent that starts etcd.
configured() {
	device "Environment=ETCD_AUTO_COMPACTION_RETENTION=2h"
	cat >>"$(deployment_dir A)/etc/greenboot-etcd/greenboot-etcd.conf" <<-'EOF2'
		[run]
		args=--max-txn-ops=7
		env-file=/etc/etcd.env -/etc/nowhere
		credentials=secret:/etc/secret
		quota-backend-bytes=64MiB
		memory-high=300MiB
		io-weight=50
	EOF2
	echo "ETCD_NAME='by file'" >"$(deployment_dir A)/etc/etcd.env"
	echo word >"$(deployment_dir A)/etc/secret"
	scene <<-'EOF2'
		systemctl start app.service
		up
		tr '\0' ' ' <"/proc/$(pid)/cmdline" | grep -e "--max-txn-ops=7 $"
		tr '\0' '\n' <"/proc/$(pid)/environ" >/run/environ
		grep -x "ETCD_NAME=by file" /run/environ
		grep -x "ETCD_QUOTA_BACKEND_BYTES=67108864" /run/environ
		grep -x "ETCD_AUTO_COMPACTION_RETENTION=2h" /run/environ
		. <(grep CREDENTIALS_DIRECTORY /run/environ)
		[[ $(cat "/proc/$(pid)/root$CREDENTIALS_DIRECTORY/secret") == word ]]
		[[ $(systemctl show -P MemoryHigh "$UNIT") == 314572800 ]]
		[[ $(systemctl show -P IOWeight "$UNIT") == 50 ]]
		[[ $(etcdctl member list -w json | jq -r '.members[0].name') == "by file" ]]
		# The administrator has a drop-in, and etcd outlives its parent for a while.
		install -d "/etc/systemd/system/$UNIT.d"
		printf '[Service]\nNice=5\nExecStop=sleep 1\n' >"/etc/systemd/system/$UNIT.d/site.conf"
		systemctl daemon-reload
		systemctl restart app.service
		[[ $(ps -o ni= -p "$(pid)") -eq 5 ]]
		# The stopped service is the parent, and etcd stops and starts together with the parent.
		etcdctl put j before
		greenboot-etcd backup one --stop
		up
		etcdctl put j after
		greenboot-etcd restore one --stop
		up
		[[ $(etcdctl get j --print-value-only) == before ]]
		greenboot-etcd undo --stop
		[[ $(etcdctl get j --print-value-only) == after ]]
		greenboot-etcd health
	EOF2
}

# The update brings this release.
next() {
	need_etcd_next
	device
	install -D -m 0755 "$ETCD_NEXT" "$VAR/next/etcd"
	sed -i "s|=([^ ]*|=(/var/next/etcd|" "$(deployment_dir A)/etc/arguments"
	scene <<-'EOF2'
		systemctl start app.service
		up
		[[ $(readlink "/proc/$(pid)/exe") == /var/next/etcd ]]
		curl -s http://localhost:2379/version | grep '"etcdserver":"3\.[5-9]'
		kill -KILL "$(pid)"
		soon up
		kill -KILL "$(pid app.service)"
		soon down
	EOF2
}

# The time compared with systemd-run, in turns, for a program that is ready at once. The figures are only logged,
# because they say little on a busy machine.
cost() {
	device
	sed -i 's/^service=.*/service=/' "$(deployment_dir A)/etc/greenboot-etcd/greenboot-etcd.conf"
	scene <<-'EOF2'
		install -m 0755 /dev/stdin /run/etcd <<<$'#!/bin/sh\nexec systemd-notify --ready'
		systemd-run --quiet --unit=other -p Type=exec sleep infinity
		ended() { [[ $(systemctl show -P LoadState "$1") == not-found ]]; }
		took() { # FILE COMMAND...
			local file=$1 began=${EPOCHREALTIME/./}
			shift
			"$@"
			echo $((${EPOCHREALTIME/./} - began)) >>"$file"
		}
		median() { sort -n "$1" | sed -n "$(($(wc -l <"$1") / 2 + 1))p"; }
		for n in {1..31}; do
			took /run/theirs systemd-run --quiet --collect --unit=plain -p Type=notify \
				-p BindsTo=other.service -p Before=other.service -p Restart=on-failure \
				/run/etcd --data-dir=/var/lib/etcd/default
			took /run/ours greenboot-etcd run -q --parent=other -- \
				/run/etcd --data-dir=/var/lib/etcd/default
			soon ended plain.service
			soon collected
		done
		echo "medians of 31, us: systemd-run $(median /run/theirs), run $(median /run/ours)"
		[[ $(wc -l </run/ours) == 31 ]]
	EOF2
	grep -o "medians of 31.*" "$LOG" >&2
}

suite_begin "$@"
need_nspawn
run_case run-ready-for-a-starting-parent starts
run_case run-parent-killed parent_killed
run_case run-parent-stopped parent_stopped
run_case run-etcd-killed etcd_killed
run_case run-stopped-by-hand stopped_by_hand
run_case run-twice twice
run_case run-leftover leftover
run_case run-development development
run_case run-refused refused
run_case run-held held
run_case run-configured configured
run_case run-next-release next
run_case run-cost cost
suite_end
