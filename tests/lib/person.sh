# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Words of the person who types commands in a container. The suites that boot one print this file into the person's
# script, which sets LIVE, the directory of the certificates.

# by DIR COMMAND...: runs etcdctl as a client with the certificates in DIR.
by() { etcdctl --endpoints=https://127.0.0.1:2379 --dial-timeout=2s --command-timeout=3s --cacert="$1/ca.crt" --cert="$1/client.crt" --key="$1/client.key" "${@:2}"; }
ctl() { by "$LIVE" "$@"; }
sum() { (cd "$LIVE" && find . -type f | sort | xargs cat | sha256sum | cut -c 1-16); }
wrong() {
	echo "not as it should be: $*"
	exit 1
}
is() { [[ $2 == "$3" ]] || wrong "$1: $2, not $3"; }
isnt() { [[ $2 != "$3" ]] || wrong "$1: still $2"; }
gives() { # STATUS COMMAND...
	local want=$1 rc=0
	shift
	"$@" || rc=$?
	is "status of $*" "$rc" "$want"
}
# comes COMMAND...: expects success after a while. On a busy machine a cluster may be without a leader.
comes() {
	for _ in {1..240}; do
		! "$@" || return 0
		sleep 0.5
	done
	wrong "$* does not end well"
}
gets() { is value "$(by "${1:-$LIVE}" get k --print-value-only)" v; }
getsnt() { ! by "$1" get k || wrong "$1 is still let in"; }
clean() {
	is "in the directory" "$(ls -A "${LIVE%/live}")" live
	openssl verify -CAfile "$LIVE/ca.crt" "$LIVE"/{server,peer,client}.crt || wrong verify
}
starts() {
	systemctl start etcd
	ctl put k v
}
