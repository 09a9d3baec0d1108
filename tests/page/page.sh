#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Cockpit page with Debian's cockpit-ws and bridge and a headless browser. The real programs run on a real ostree
# sysroot with a real etcd. drive.mjs has the browser and the cases. This script is the device: it boots, fails and rolls
# back at the request of drive.mjs. The story lasts six days of the device's clock. Its end is a fixed time, so that the
# dates fit the versions.

# shellcheck disable=SC2317,SC2119 # asked for by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

PAGE=$GBE_TOP/data/cockpit/greenboot-etcd
MAX_BOOT_ATTEMPTS=2
OS_VERSION=([A]=42.20261127.0 [B]=43.20261203.0)
DAYS_AGO=6
STORY_ENDS=$(($(date -d '2026-12-06 09:30 UTC' +%s) - $(date +%s))) # seconds from now
COCKPIT_WS=/usr/lib/cockpit/cockpit-ws
[[ -x $COCKPIT_WS ]] || COCKPIT_WS=/usr/libexec/cockpit-ws

suite_begin "$@"
CHROMIUM=$(command -v chromium || command -v chromium-browser || echo chromium)
for tool in "$COCKPIT_WS" cockpit-bridge "$CHROMIUM" node; do
	command -v "$tool" >/dev/null || { echo "skip page: $tool is not installed (make deps-all)" && exit 0; }
done
TOOLS=$("$GBE_TOP/.ci/fetch-page-tools" --where) || { echo "skip page: $TOOLS is missing (make deps-all)" && exit 0; }

LOG=$CASE_LOGS/page.world.log
WORLD=$GBE_MEM/world
declare -A SERVER=() # admin, limited: the pid of its cockpit-ws

# ---- the programs for the browser ----

# The session's greenboot-etcd: the real program on ROOT, with the device's clock. Below --root no service is stopped: this
# script stops and starts etcd. The program fails as a test asks.
wrapper() {
	cat >"$WORLD/bin/greenboot-etcd.there" <<-EOF
		#!/bin/bash
		stop= dry= args=()
		for arg; do
			case \$arg in
			--stop) stop=yes ;;
			-n) dry=yes ;;
			esac
			[[ \$arg == --stop && ! " \$* " == *" -n "* ]] || args+=("\$arg")
		done
		echo "\$*" >>"$WORLD/asked"
		export LD_PRELOAD=$GBE_PREPARED/clock.so/clock.so GBE_TEST_CLOCK=\$(<"$WORLD/clock")
		real() { "$BUILD/greenboot-etcd" --root="$ROOT" "\${args[@]}"; }
		read -r fault verb 2>/dev/null <"$WORLD/fault"
		[[ ! \$verb || " \$* " == " --json \$verb "* ]] || fault=
		case \$fault in
		killed) kill -KILL \$\$ ;;
		unreadable) echo '{"schema": 1, "boo' && exit 0 ;;
		newer) real | sed 's/"schema" : 1/"schema" : 2/' && exit 0 ;;
		old) echo "greenboot-etcd: no such verb: \$verb; see \\\`greenboot-etcd --help\\\`" >&2 && exit 2 ;;
		steps) real | jq '.protection = {state: "needs-you", reason: "etcd is held back", hint: "restore a backup", steps: ["greenboot-etcd restore @1 --stop", "systemctl start etcd"]}' && exit 0 ;;
		slow) echo \$\$ >"$WORLD/slow" && exec sleep 1000 ;;
		many) [[ " \$* " != " --json list "* ]] || { cat "$WORLD/many.list" && exit 0; }
			[[ " \$* " != " --json log "* ]] || { cat "$WORLD/many.log" && exit 0; } ;;
		esac
		if [[ ! \$stop || \$dry ]]; then
			exec "$BUILD/greenboot-etcd" --root="$ROOT" "\${args[@]}"
		fi
		mkfifo "$WORLD/stop.\$\$"
		service() { echo "$WORLD/stop.\$\$ \$1" >"$WORLD/asks" && read -r _ <"$WORLD/stop.\$\$"; }
		service etcd_stops
		real
		status=\$?
		service etcd_starts
		rm "$WORLD/stop.\$\$"
		exit \$status
	EOF
	chmod 755 "$WORLD/bin/greenboot-etcd.there"
	ln -sfn greenboot-etcd.there "$WORLD/bin/greenboot-etcd"
}

free_port() {
	local port try
	for try in {1..50}; do
		port=$((32100 + RANDOM % 600))
		port_free "$port" && echo "$port" && return
	done
	echo "no free port after $try tries" >&2
	return 1
}

# server NAME BRIDGE: a cockpit-ws whose sessions are BRIDGE. Its port is in NAME.port.
server() {
	local port n
	port=$(free_port)
	env -i PATH="$WORLD/bin:/usr/bin:/bin" HOME="$WORLD/home" LC_ALL=C.UTF-8 XDG_RUNTIME_DIR="$WORLD/run" \
		XDG_CONFIG_DIRS="$WORLD/etc" XDG_CONFIG_HOME="$WORLD/home" XDG_DATA_HOME="$WORLD/home" \
		XDG_DATA_DIRS="$WORLD/share:/usr/share" \
		"$COCKPIT_WS" --no-tls -a 127.0.0.1 -p "$port" --local-session "$2" </dev/null >"$WORLD/$1.log" 2>&1 &
	SERVER[$1]=$!
	echo "$port" >"$WORLD/$1.port"
	for ((n = 0; n < 500; n++)); do
		! port_free "$port" || { nap 0.02 && continue; }
		return 0
	done
	cat "$WORLD/$1.log" >&2
	return 1
}

# ---- requests of the browser ----

ask_new_device() {
	kill_etcd
	root_free
	ask_clock $((-DAYS_AGO * 86400 - 7 * 60))
	device "${1:-xfs}"
	wrapper
	power_on
	started
	put_many devices 200
	judge green
}
ask_clock() { # SECONDS: the device's clock is that much ahead of the story's end
	clock_set $((STORY_ENDS + $1))
	echo $((STORY_ENDS + $1)) >"$WORLD/clock"
	chmod 644 "$WORLD/clock"
}
ask_etcd_stops() { stop_etcd; }
ask_etcd_starts() { start_etcd; }
ask_stage() { update B; }
ask_update_gets_etcd() { install -D -m 755 "$(command -v "$ETCD")" "$(deployment_dir B)/usr/bin/etcd"; }
ask_reboot() { reboot; }
ask_red_run() {
	b_writes
	judge red
}
ask_green_run() { judge green; }
ask_store() { # directory|unreachable|none
	unconfig store directory
	unconfig store url
	unconfig store access-key-file
	rm -rf "$ROOT/var/lib/greenboot-etcd/queue"
	case $1 in
	directory)
		config store directory=/var/store
		mkdir -p "$ROOT/var/store"
		gbe store push
		gbe store verify
		;;
	unreachable)
		printf '[default]\naws_access_key_id=device\naws_secret_access_key=secret\n' >"$ROOT/etc/greenboot-etcd/store.key"
		chmod 600 "$ROOT/etc/greenboot-etcd/store.key"
		config store url=https://127.0.0.1:9/snapshots/device-1 access-key-file=/etc/greenboot-etcd/store.key
		put "after/$1" 1
		gbe store push --queue
		gbe store send || true
		;;
	esac
}
ask_place() { gbe --json show "$1" | jq -r .name >"$WORLD/place"; }
# The answer of status as a terminal has it, and its JSON.
ask_status() {
	gbe status | head -n 1 >"$WORLD/first"
	gbe --json status >"$WORLD/status"
}
ask_state() { etcd_state >"$WORLD/state"; }
ask_put() { put "$1" "$2"; }
ask_fault() { echo "$*" >"$WORLD/fault"; }
ask_program() { # there|missing
	rm -f "$WORLD/bin/greenboot-etcd"
	[[ $1 == missing ]] || ln -s greenboot-etcd.there "$WORLD/bin/greenboot-etcd"
}
ask_no_ostree() { rm "$ROOT/run/ostree-booted"; }
ask_ostree() { : >"$ROOT/run/ostree-booted"; }
ask_damage() { # NAME: flips a bit of the root page of that backup's database, which its metas name
	local db root
	db=$(data_of "$1")/member/snap/db
	cp "$db" "$WORLD/db"
	for root in $(for meta in 0 4096; do od -An -t u8 -j $((meta + 32)) -N 8 "$db"; done | sort -u); do
		flip "$WORLD/db" $((root * 4096 + 8))
	done
	cat "$WORLD/db" >"$db"
}
ask_unreadable() { echo '{' >"$(dirname "$(data_of "$1")")/manifest.json"; }
ask_offline() {
	kill "${SERVER[$1]}"
	wait "${SERVER[$1]}" 2>/dev/null || true
	unset "SERVER[$1]"
}
# A new one: Cockpit ends an idle session.
ask_server() {
	[[ ! ${SERVER[$1]-} ]] || ask_offline "$1"
	case $1 in
	admin) server admin /usr/bin/cockpit-bridge ;;
	limited) server limited "$WORLD/bin/limited-bridge" ;;
	esac
}
ask_many() { python3 "$GBE_TOP/tests/page/many.py" "$WORLD" "${DEPLOYMENT[A]}"; }

# serve: until the browser has finished. A request is "FIFO NAME ARGUMENT...", and "0" the answer.
serve() {
	local to name args
	while read -r to name args; do
		[[ $name != end ]] || return 0
		# shellcheck disable=SC2086 # words
		"ask_$name" $args </dev/null
		echo 0 >"$to"
	done <>"$WORLD/asks"
}

broke() {
	trap - ERR
	echo "not ok world: $1" >&3
	kill -KILL "$DRIVER" 2>/dev/null
	kill_etcd
	root_free
	exit 1
}

mkdir -p "$WORLD"/{bin,etc,home,run,share/cockpit} "$GBE_TOP/build/page"
chmod 711 "$GBE_SCRATCH" "$GBE_MEM"
chmod 777 "$WORLD/home" "$WORLD/run" "$WORLD"
cp -r "$PAGE" "$WORLD/share/cockpit/"
: >"$WORLD/fault"
: >"$WORLD/asked"
chmod 666 "$WORLD/asked"
mkfifo "$WORLD/asks" "$WORLD/answers"
cat >"$WORLD/bin/limited-bridge" <<'SH'
#!/bin/sh
exec setpriv --reuid=65534 --regid=65534 --clear-groups cockpit-bridge
SH
chmod 755 "$WORLD/bin/limited-bridge"

exec 3>&1
env HOME="$WORLD/home" WORLD="$WORLD" CHROMIUM="$CHROMIUM" TOOLS="$TOOLS" PICTURES="$GBE_TOP/build/page" \
	node "$GBE_TOP/tests/page/drive.mjs" <>"$WORLD/answers" >&3 2>"$CASE_LOGS/page.driver.log" &
DRIVER=$!
(
	exec >"$LOG" 2>&1
	trap 'broke "${BASH_SOURCE##*/}:$LINENO: $BASH_COMMAND"' ERR
	set -eEuo pipefail
	set -x
	ask_new_device xfs
	serve
	kill_etcd
	root_free
)
world=$?
wait "$DRIVER"
driver=$?
[[ $world == 0 && $driver == 0 ]] || tail -n 20 "$CASE_LOGS/page.driver.log" >&2
exit $((world || driver))
