#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# systemd accepts the units, as they are installed; what a unit starts is there; none is let do more than
# it needs to.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

mapfile -t units < <(unit_files)
if ! command -v systemd-analyze >/dev/null; then
	skip units "systemd-analyze is not installed: make deps"
	finish
fi

# Of 100: systemd-analyze's own measure.
exposure=18
# These speak to etcd or a store, and write files that may be another user's: there is no more to take away.
copies_from_network='^(backup|requests|push|send|prove)$'
exposure_of_those=21
# These give etcd's keys to etcd's group, have the TPM open the authority's, and ask for the machine's addresses.
issues_keys='^(renew|rejoin)$'
exposure_of_those_two=23
# These ask etcd or a store, or are asked.
networked='^(green|monitor|defrag|backup|requests|push|send|prove|renew|lock|rejoin)$'
administrators='^(prerun)$'
# Units that read data and backups, and write nothing of etcd's.
readers='^(monitor|defrag|scrub)$'

root=$scratch/root
MAKEFLAGS='' make --no-print-directory -s install DESTDIR="$root" >"$scratch/log" 2>&1 || {
	not_ok units "make install failed: $(tail -n 3 "$scratch/log" | tr '\n' ';')"
	finish
}
directory=$root/usr/lib/systemd/system
# The targets that units refer to come from this machine's systemd.
for path in /usr/lib/systemd/system /lib/systemd/system; do
	[ -d $path ] || continue
	cp -rn $path/. "$directory/"
	break
done

# verify NAME: what systemd has to say of an installed unit.
verify() {
	systemd-analyze verify --root="$root" --man=no --recursive-errors=no "$directory/$1" 2>&1 |
		grep -F "$1"
}

# exposed NAME: more than is allowed.
exposed() {
	local name=${1#greenboot-etcd-} limit=$exposure

	[[ ! ${name%.service} =~ $copies_from_network ]] || limit=$exposure_of_those
	[[ ! ${name%.service} =~ $issues_keys ]] || limit=$exposure_of_those_two
	systemd-analyze security --offline=yes --root="$root" --threshold=$limit --no-pager \
		"$1" >"$scratch/security" 2>&1 || tail -n 1 "$scratch/security"
}

# loose UNIT-FILE [SANDBOX]: what it may do and need not, together with the settings of all.
loose() {
	local name setting
	name=$(basename "$1" .service)
	cat "$1" "${2-hooks/sandbox.conf}" >"$scratch/whole"
	set -- "$scratch/whole"

	[[ $name =~ $administrators ]] || ! grep -q '^Capab.*CAP_SYS_ADMIN' "$1" ||
		echo "CAP_SYS_ADMIN"
	grep -q '^CapabilityBoundingSet=CAP' "$1" || echo "every capability"
	[[ $name =~ $networked ]] || grep -qx 'PrivateNetwork=yes' "$1" || echo "a network"
	grep -qx 'ProtectSystem=strict' "$1" || echo "the whole file system"
	# In a container its boot id is put over the kernel's; each program has to see the same.
	! grep -qE '^(ProtectProc|ProtectKernelTunables|ProtectControlGroups|MountAPIVFS)=' "$1" ||
		grep -qx 'BindReadOnlyPaths=/proc/cmdline /proc/sys/kernel/random' "$1" ||
		echo "another boot id"
	grep '^ProcSubset=' "$1"
	if [[ $name =~ $readers ]]; then
		grep -E '^Capab.*CAP_(DAC_OVERRIDE|CHOWN|FOWNER)' "$1"
		grep '^ReadWritePaths=' "$1" |
			grep -vxE 'ReadWritePaths=-/var/lib/greenboot-etcd( -/run/motd\.d)?'
	else
		# A mount at the data or at its parent would be the end of every rename between them.
		# ostree's lock lies in a directory of its own.
		grep '^ReadWritePaths=' "$1" | grep -vxE 'ReadWritePaths=-/var -/run/motd\.d( -/run/ostree)?'
	fi
	# A worker that is ended for its memory is no reason to end the parent that answers for it.
	for setting in MemoryMax TasksMax OOMPolicy; do
		grep -qE "^$setting=([1-9][0-9]*[MG]?|continue)\$" "$1" || echo "no $setting="
	done
}

for unit in "${units[@]}"; do
	name=greenboot-etcd-${unit##*/}
	while IFS= read -r program; do
		[ -x "$root$program" ] || not_ok "unit-starts-$name" "$program is not installed"
	done < <(grep -oE '^Exec[A-Za-z]*=[-@:+!]*[^ ]+' "$unit" | sed 's/^[^=]*=[-@:+!]*//')
	check "unit-$name" "$(verify "$name")"
	# Installing is enabling: there is nothing that could be enabled, or merged into another system.
	check "static-$name" "$(grep -n '^\[Install\]' "$unit")"
	case $unit in
	*.service)
		check "exposure-$name" "$(exposed "$name")"
		check "needs-$name" "$(loose "$unit")"
		;;
	esac
done
[ ${#units[@]} -gt 0 ] || not_ok units "no unit was found"

# Shared settings are written once.
check sandbox-shared "$(for unit in "${units[@]}"; do
	[[ $unit != *.service ]] || grep -HFxf <(grep -v '^\(#.*\|\[Service\]\|\)$' hooks/sandbox.conf) "$unit"
done)"

# No file is installed into a directory that ostree would merge into a deployment without the package.
check units-not-in-etc "$(find "$root/etc" "$root/run" "$root/var" -mindepth 1 2>/dev/null)"

# generated LABEL UNIT...: with what the generator writes of the configuration on stdin, systemd still accepts the
# units, and the names that it makes.
generated() {
	local label=$1 out=$scratch/$1 unit

	shift
	rm -rf "$root/etc/systemd"
	mkdir -p "$root/etc/greenboot-etcd" "$root/etc/systemd/system" "$out"
	cat >"$root/etc/greenboot-etcd/greenboot-etcd.conf"
	if ! "$root/usr/lib/systemd/system-generators/greenboot-etcd-generator" --root="$root" "$out" \
		2>"$scratch/log" || [ ! -d "$out/my-etcd.service.d" ] || [ -s "$scratch/log" ]; then
		not_ok "$label" "the generator wrote nothing: $(head -n 1 "$scratch/log")"
		return
	fi
	cp -r "$out/." "$root/etc/systemd/system/"
	for unit in "$@"; do
		[ -e "$directory/$unit" ] || [ "$PROGRAMS" = "store certs cluster" ] || continue
		if [ -e "$out/$unit.d" ]; then
			check "$label-${unit%.service}" "$(verify "$unit")"
		else
			not_ok "$label-${unit%.service}" "the generator wrote no drop-in"
		fi
	done
}

cp /usr/bin/test "$root/usr/bin/test"
printf '[Service]\nExecStart=/usr/libexec/greenboot-etcd/prerun\n' >"$directory/my-etcd.service"
ours=greenboot-etcd-
generated generated my-etcd.service \
	"$ours"{prerun,finalize,preflight,green,monitor,scrub,defrag,backup,requests,used,push,send,prove}.service \
	"$ours"{backup.timer,requests.path,used.timer,push.timer,prove.timer} <<'CONF'
[etcd]
service=my-etcd.service
data-dir=/my data/100%/"etcd"
[backup]
directory=/mnt/usb-1/back\\up
schedule=Mon..Fri *:0/30
[store]
directory=/mnt/share of $HOME/100%
requests=watch
schedule=Mon..Fri *:0/30
prove=Sat *-*-1..7 03:00
CONF
generated generated-bucket my-etcd.service "$ours"{push,send,prove,renew}.service "$ours"{push,prove}.timer <<'CONF'
[etcd]
service=my-etcd.service
endpoint=https://10.0.0.7:2379
[store]
url=https://s3.example:9000/bucket/prefix
schedule=*-*-* 00/6:00:00 UTC
prove=monthly
CONF
# Without a schedule: snapshots that wait are sent, and read back.
generated generated-by-hand my-etcd.service "$ours"{send,prove}.service "$ours"{prove.timer,used.timer} <<'CONF'
[etcd]
service=my-etcd.service
[store]
url=https://[fd00::7]/bucket
CONF

# Members that are updated one at a time.
generated generated-lock my-etcd.service "$ours"lock.service "$ours"rejoin.service <<'CONF'
[etcd]
service=my-etcd.service
[cluster]
update-lock=yes
CONF

# Certificates that another program renews.
generated generated-renew my-etcd.service "$ours"renew.service "$ours"renew.timer <<'CONF'
[etcd]
service=my-etcd.service
[certs]
directories=/etc/letsencrypt/live/etcd
renew-command=/usr/bin/certbot renew --cert-name 'my etcd'
CONF

# The guards guard.
cp hooks/finalize.service "$directory/greenboot-etcd-bad.service"
sed -i -e 's/^PrivateNetwork=.*//; s/^\(Capab.*\)/\1 CAP_SYS_ADMIN/; s/^Restrict.*//' \
	-e 's|^ReadWritePaths=.*|ReadWritePaths=/var/lib/etcd|; s/^ExecStop=/NoSuchSetting=/' \
	"$directory/greenboot-etcd-bad.service"
sed -e 's/^Protect.*//; s/^OOMPolicy=.*//; s/^BindReadOnly.*/ProtectProc=invisible/' hooks/sandbox.conf >"$scratch/bad.conf"
if [ "$(loose "$directory/greenboot-etcd-bad.service" "$scratch/bad.conf" | wc -l)" -eq 6 ] &&
	[ -n "$(exposed greenboot-etcd-bad.service)" ] && [ -n "$(verify greenboot-etcd-bad.service)" ]; then
	ok units-can-fail
else
	not_ok units-can-fail "a loose unit was not found: $(loose "$directory/greenboot-etcd-bad.service" |
		tr '\n' ';') $(exposed greenboot-etcd-bad.service) $(verify greenboot-etcd-bad.service)"
fi
finish
