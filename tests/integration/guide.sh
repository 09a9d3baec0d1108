#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The commands of greenboot-etcd-guide(7), README.md and docs/, typed as printed, on devices that a real systemd
# boots. The scenes: recovery by hand, a device whose etcd is held back, a new machine instead of a lost one, and
# others from the pages.

# shellcheck disable=SC2317,SC2119 # cases are called by name; arguments that are optional
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

PAGE=$GBE_TOP/data/man/greenboot-etcd-guide.7

# block NAME: prints the commands of one block of the page.
block() {
	local commands
	commands=$(sed -n "/^\\.\\\\\" run: $1\$/,/^\\.fi\$/s/^# //p" "$PAGE" | sed 's/\\-/-/g')
	[[ $commands ]] || fail "the page has no block $1"
	echo "$1" >>"$GBE_MEM/played"
	printf '%s\n' "$commands" | tee -a "$GBE_MEM/typed"
}

# documented: prints "PAGE:LINE COMMAND" of the commands in README.md and docs/. Commands are the lines of "sh"
# blocks, and lines with a prompt in other blocks. In text, words that begin like our commands and related ones count.
documented() {
	(cd "$GBE_TOP" && awk '
		FNR == 1 { code = 0 }
		/^ *```/ { code = !code; shell = code && /sh$/; plain = code && /```$/; next }
		code && !shell && !plain { next }
		code {
			sub(/^ +/, "")
			if (shell ? NF : !/^# [a-z]+:/ && sub(/^[#$] /, "")) { # and no comment of a configuration
				sub(/ +# .*/, "")
				print FILENAME ":" FNR " " $0
			}
			next
		}
		{
			for (rest = $0; match(rest, /`[^`]+`/); rest = substr(rest, RSTART + RLENGTH)) {
				span = substr(rest, RSTART + 1, RLENGTH - 2)
				if (span ~ /^(greenboot-etcd|make|systemctl|journalctl|rpm-ostree|bootc|dracut|chown|restorecon|man) ./)
					print FILENAME ":" FNR " " span
			}
		}' README.md docs/*.md)
}

# elsewhere: COMMAND|WHY it is not typed here|FILE|text of FILE that plays it. COMMAND is a pattern; = is the command.
elsewhere() {
	cat <<-'LIST'
		git clone URL *|the tree has no address yet; CI begins with a clone|.ci/run|in a fresh clone
		make deps demo|CI runs it as README has it|.ci/run|readme_command demo-command
		make deps check|CI runs it as README has it|.ci/run|readme_command test-command
		make demo DEMO_FS=*|CI runs it on XFS|tests/demo/run|DEMO_FS
		make demo|CI runs it with deps|.ci/run|readme_command demo-command
		make deps|CI runs it with demo|.ci/run|readme_command demo-command
		make deps-all check-all|CI runs both|.ci/run|exec tests/all
		make deps-all|CI runs it after the demo|.ci/run|=
		make check|CI runs it with deps|.ci/run|readme_command test-command
		make lint|make check is that|Makefile|for part in check-unit lint check-integration
		make check-unit|make check is that|Makefile|for part in check-unit lint check-integration
		make check-integration|make check is that|Makefile|for part in check-unit lint check-integration
		make check-guards|takes an hour|tests/crash/README.md|=
		make check-mutations|takes hours|tests/README.md|=
		make check-all|CI runs it|.ci/run|exec tests/all
		make check-*|CI runs it|tests/all|=
		make asan|CI runs most of it|tests/all|make D=asan,ubsan
		make rpm|make check-rpm begins with it|Makefile|check-rpm: rpm
		make deb|make check-deb begins with it|Makefile|check-deb: deb
		make rpm NOCHECK=1|make check-rpm sets it|Makefile|check-rpm check-deb: NOCHECK = 1
		make deb NOCHECK=1|make check-deb sets it|Makefile|check-deb: NOCHECK = 1
		apt-get install ./build/deb/*|a root of its own installs them|tests/deb/deb.sh|apt-get install -q -y $(debs NEW greenboot-etcd)
		make|a suite has what it made|Makefile|FAULTS=0 all helper-programs
		make PROGRAMS=*|CI builds the base alone|tests/all|make VARIANT=base PROGRAMS=
		make install PROGRAMS=*|lint installs without them|tests/lint/build.sh|PROGRAMS=
		make install DESTDIR=*|the devices here are made by it|tests/lib/container.sh|install DESTDIR=
		make && make install DESTDIR=*|the devices here are made by it|tests/lib/container.sh|install DESTDIR=
		make help|lint reads it|tests/lint/build.sh|make --no-print-directory help
		make bench|takes an hour|tests/bench/README.md|=
		make bench-story|takes minutes, and another figure each time|tests/bench/README.md|=
		make valgrind|takes hours|tests/valgrind/README.md|=
		make fuzz|takes hours; make check-unit plays its corpus|Makefile|unit/fuzz-
		make demo-powercut|for people; make check-crash compares|Makefile|tests/crash/demo-powercut
		make demo-vm|for people; make check-vm compares|Makefile|tests/vm/demo
		rpm-ostree install*|Debian has no rpm-ostree|tests/rpm/packages.sh|main-files
		rpm-ostree initramfs --enable|Debian has no rpm-ostree; dracut itself runs|tests/system/dracut.sh|dracut
		rpm-ostree rollback|Debian has no rpm-ostree|tests/lib/ostree.sh|=
		bootc rollback|Debian has no bootc|tests/lib/ostree.sh|=
		systemctl start|the block "unprotected" adds the service, as readers do|data/man/greenboot-etcd-guide.7|systemctl start etcd
		systemctl restart|readers add the service|tests/system/runs.sh|systemctl restart etcd
		systemctl mask greenboot-etcd-prerun|a reload is dear|tests/system/runs.sh|=
		systemctl unmask --runtime greenboot-etcd-prerun|a reload is dear|tests/integration/cli-status.sh|=
		systemctl reboot|ends the machine|tests/lib/nspawn.sh|=
		chown -R etcd:|one machine has one number for a user|tests/integration/snapshot.sh|chown
		restorecon -R|a container has no SELinux|tests/vm/selinux.sh|inside restorecon -R
		greenboot-etcd restore --last-good --stop --force|wants data that no etcd leaves|tests/integration/attacker.sh|gbe restore mine --force
		greenboot-etcd certs reset|wants an application that makes certificates|tests/integration/certs.sh|certs reset
		greenboot-etcd run -- etcd|wants a service of its own|tests/integration/run.sh|greenboot-etcd run --
		greenboot-etcd help|needs no device|tests/integration/cli.sh|"$GBE" help
		systemctl start greenboot-etcd-push.timer *|wants a bucket|tests/integration/generator.sh|wants push.timer send.service prove.timer
		greenboot-etcd store verify|wants a store with snapshots|tests/integration/store/store-bucket.sh|gbe --json store verify
		greenboot-etcd store send|wants a bucket that was away|tests/integration/store/store-bucket.sh|gbe --json store send
		greenboot-etcd store pull latest *|wants a bucket|tests/integration/store/store-bucket.sh|gbe --json store pull latest
		greenboot-etcd import FILE NAME|snapshots have a suite of their own|tests/integration/snapshot.sh|gbe import
		greenboot-etcd import /var/tmp/etcd.db *|follows a pull|tests/integration/store/store-bucket.sh|gbe import
		greenboot-etcd restore from-the-bucket|follows a pull|tests/integration/store/store-bucket.sh|gbe restore
		greenboot-etcd certs init|wants a device without certificates|tests/integration/certs/certs-pki.sh|greenboot-etcd --json certs init
		greenboot-etcd certs issue *|follows certs init|tests/integration/certs/certs-pki.sh|certs issue
		greenboot-etcd certs sign *|follows certs init|tests/integration/certs/certs-pki.sh|certs sign
		greenboot-etcd certs rotate-ca --token*|wants a cluster|tests/integration/cluster/cluster-rotation.sh|certs rotate-ca --token
		greenboot-etcd certs rotate-ca*|follows certs init|tests/integration/certs/certs-pki.sh|certs rotate-ca
		greenboot-etcd etcdctl|readers add its arguments|tests/integration/etcdctl.sh|gbe etcdctl
		systemctl edit etcd.service|opens an editor|tests/integration/certs/certs-pki.sh|EnvironmentFile=
		greenboot-etcd cluster status|wants a cluster|tests/integration/cluster/cluster-members.sh|gbe cluster status
		greenboot-etcd cluster unlock*|wants a cluster|tests/integration/cluster/cluster-lock.sh|gbe cluster unlock
		greenboot-etcd cluster init *|wants a device without data|tests/integration/cluster/cluster-devices.sh|greenboot-etcd cluster init
		rpm-ostree upgrade --reboot|Debian has no rpm-ostree|tests/integration/cluster/cluster-lock.sh|at_shutdown
		greenboot-etcd cluster lock|wants a cluster|tests/integration/cluster/cluster-lock.sh|gbe cluster lock
		greenboot-etcd cluster rejoin *|wants a cluster|tests/integration/cluster/cluster-devices.sh|greenboot-etcd cluster rejoin
		greenboot-etcd cluster leave|wants a cluster|tests/integration/cluster/cluster-devices.sh|greenboot-etcd --json cluster leave
		greenboot-etcd cluster reset*|wants a cluster|tests/integration/cluster/cluster-devices.sh|greenboot-etcd cluster reset
		greenboot-etcd cluster recover*|wants a cluster|tests/integration/cluster/cluster-devices.sh|greenboot-etcd cluster recover
		greenboot-etcd cluster token *|follows cluster init|tests/integration/cluster/cluster-devices.sh|greenboot-etcd cluster token
		greenboot-etcd cluster join *|wants a device without data|tests/integration/cluster/cluster-devices.sh|greenboot-etcd cluster join
		greenboot-etcd member *|wants a cluster|tests/integration/cluster/cluster-members.sh|gbe member
		greenboot-etcd rehearse|wants a staged update|tests/integration/rehearse.sh|gbe rehearse
		systemctl start UNIT|wants a missing mount|tests/integration/holds.sh|way_back mount
		greenboot-etcd restore NAME --stop --force|wants data that no etcd leaves|tests/integration/holds.sh|way_back deformed
		greenboot-etcd VERB|wants an interrupted change|tests/integration/cluster/cluster-devices.sh|greenboot-etcd --json cluster leave
		rpm-ostree status|Debian has no rpm-ostree|tests/lib/ostree.sh|rpm-ostree
		make page-pictures|takes minutes; the page suite plays the same story|Makefile|page-pictures:
		make install|the devices here are made by it|tests/lib/container.sh|install DESTDIR=
		make uninstall|lint plays it|tests/lint/install.sh|uninstall
		journalctl --update-catalog|lint plays it|tests/lint/catalog.sh|--update-catalog
		systemctl start greenboot-etcd-monitor.service|follows its timer|tests/integration/generator.sh|greenboot-etcd-monitor.service
		systemctl status greenboot-etcd-monitor.timer|follows its timer|tests/integration/boot.sh|greenboot-etcd-monitor.timer
		grep protected *|wants a collector|tests/integration/boot.sh|textfile=
		greenboot-etcd defrag|wants free pages|tests/integration/users.sh|defrag
		man greenboot-etcd-guide|lint reads the pages|tests/lint/man.sh|mandoc
		man data/man/greenboot-etcd-guide.7|lint reads the pages|tests/lint/man.sh|mandoc
	LIST
}

# typed STATUS COMMAND [WORD=TEXT]...: prints a line for a person: the command of the pages, with TEXT instead of
# WORD, and its exit status. The reader adds the text for the word "..." at the end.
typed() {
	local command=$2 word

	echo "$2" >>"$GBE_MEM/typed"
	for word in "${@:3}"; do
		if [[ $word == ...=* ]]; then
			command+=" ${word#*=}"
		else
			command=${command//"${word%%=*}"/"${word#*=}"}
		fi
	done
	# shellcheck disable=SC2016 # the person's
	printf 'status=0; %s || status=$?; [[ %s == *" $status "* ]]\n' "$command" "' $1 '"
}

# person NAME COMMANDS: sets the commands of a person on a machine of that deployment. look WORD records etcd's
# content there.
person() {
	mkdir -p "$ELSEWHERE"
	populate "$1" "set -eux
		ETCDCTL=etcdctl ETCD_HOST=127.0.0.1 ETCD_PORT=2379
		$(declare -f ctl etcd_state)
		look() { etcd_state >/mnt/\$1; }
		$2
		: >/mnt/done"
	rm -f "$ELSEWHERE/done"
	run "$1" --bind="$ELSEWHERE:/mnt"
	[[ -e $ELSEWHERE/done ]] || fail "$(grep -E 'bash\[' "$LOG" | tail -n 2 | cut -c 16- | tr '\n' ' ')"
}
looked() { cat "$ELSEWHERE/$1"; }

# configure NAME GROUP KEY=VALUE
configure() {
	local dir
	dir=$(deployment_dir "$1")/etc/greenboot-etcd/greenboot-etcd.conf.d
	mkdir -p "$dir"
	printf '[%s]\n%s\n' "$2" "$3" >"$dir/50-$2-${3%%=*}.conf"
}

by_hand() {
	container_device
	deploy A
	person A "etcdctl put k right
		greenboot-etcd mark good
		look right"
	person A "etcdctl put k wrong
		etcdctl put more wrong
		look wrong
		$(block by-hand)
		look restored
		$(block undo)
		look undone"
	assert_eq "restored" "$(looked restored)" "$(looked right)"
	assert_eq "undone" "$(looked undone)" "$(looked wrong)"
}

held() {
	container_device
	deploy A
	configure A backup directory=/var/spare/store
	configure A backup on-upgrade-failure=refuse
	fs_at ext4 "$VAR/spare"
	person A "etcdctl put k v
		greenboot-etcd mark good
		look before"
	goes_away "$VAR/spare"
	deploy B
	cp -a "$(deployment_dir A)/etc/greenboot-etcd" "$(deployment_dir B)/etc/"
	person B "systemctl is-active etcd && exit 1
		$(block held)
		$(block unprotected)
		look unprotected"
	in_order "prerun.*held back" "Dependency failed for etcd" "Needs you: etcd is held back" "Starting etcd"
	assert_eq "etcd without protection" "$(looked unprotected)" "$(looked before)"
	# The mask was only for that boot. The mounted store ends the hold.
	comes_back "$VAR/spare"
	person B "look after"
	in_order "prerun.*Backed up" "Starting etcd"
	assert_eq "with the store" "$(looked after)" "$(looked before)"
}

new_machine() {
	container_device
	deploy A
	configure A backup keep-good=3
	person A "etcdctl put first value
		greenboot-etcd mark good"
	person A "for n in \$(seq 50); do etcdctl put key/\$n value-\$n; done
		etcdctl del key/7
		look old
		$(block spare)
		etcdctl put later lost"
	root_free
	# Another machine with another system. Its etcd has been in use.
	container_device another-os
	deploy B
	person B "etcdctl put own value
		look own"
	assert_ne "the new machine's own" "$(looked own)" "$(looked old)"
	person B "$(block new-1)
		$(block new-2)
		$(block new-3)
		look new
		greenboot-etcd --json list >/mnt/list"
	assert_eq "on the new machine" "$(looked new)" "$(looked old)"
	assert_eq "configuration" "$(cat "$(deployment_dir B)"/etc/greenboot-etcd/*.d/50-backup-keep-good.conf)" \
		$'[backup]\nkeep-good=3'
	assert_eq "what it had" "$(jq '[.[] | select(.set_aside)] | length' "$ELSEWHERE/list")" 1
	person B "look again"
	in_order "prerun.*rule [67]" "Starting etcd"
	assert_eq "after a reboot" "$(looked again)" "$(looked old)"
}

# ini PAGE: prints the first configuration in a block of the page.
# shellcheck disable=SC2016 # a fence
ini() { sed -n '/^ *```ini$/,/^ *```$/{/```/d;p}' "$GBE_TOP/docs/$1.md"; }

pages() {
	local conf=/etc/greenboot-etcd/greenboot-etcd.conf.d docs=/usr/share/doc/greenboot-etcd name

	container_device
	deploy A
	deploy B
	configure B store directory=/var/share
	mkdir -p "$VAR/share"
	ini etcd >"$(deployment_dir B)/etc/etcd.ini"
	ini operations >"$(deployment_dir B)$conf/50-schedule.conf"
	person B "etcdctl put k v
		$(typed 0 "greenboot-etcd mark good")
		# ---- reading ----
		$(typed 0 "greenboot-etcd status")
		$(typed "0 6 7" "greenboot-etcd status --check")
		$(typed 0 "greenboot-etcd status --json" "...=>/dev/null")
		$(typed 0 "greenboot-etcd explain")
		$(typed 0 "greenboot-etcd explain --booted=rollback")
		$(typed 0 "greenboot-etcd list --exclusive")
		$(typed "0 5 7" "greenboot-etcd preflight")
		$(typed 0 "greenboot-etcd health")
		$(typed 0 "greenboot-etcd log")
		$(typed 0 "greenboot-etcd config")
		$(typed 0 "greenboot-etcd config --check")
		greenboot-etcd --config=/etc/etcd.ini config --check
		$(typed 0 "greenboot-etcd certs list")
		$(typed 0 "greenboot-etcd diagnose")
		$(typed 0 "journalctl -b -t greenboot-etcd-prerun" "...=>/dev/null")
		$(typed 0 "journalctl -x" "...=>/dev/null")
		$(typed 0 "journalctl -u greenboot-etcd-prerun" "...=>/dev/null")
		# ---- by hand ----
		$(typed 4 "greenboot-etcd backup")
		$(typed 4 "greenboot-etcd backup NAME" NAME=by-name)
		$(typed 1 "greenboot-etcd undo")
		$(typed 0 "greenboot-etcd backup --stop")
		$(typed 0 "greenboot-etcd backup NAME --stop" NAME=stopped)
		$(typed 0 "greenboot-etcd backup NAME --live" NAME=live)
		$(typed 0 "greenboot-etcd backup --live")
		$(typed 0 "greenboot-etcd verify NAME" NAME=live)
		$(typed 0 "greenboot-etcd delete NAME" NAME=live)
		$(typed 0 "greenboot-etcd restore NAME --next-boot" NAME=stopped)
		$(typed 0 "greenboot-etcd restore --cancel")
		$(typed 0 "greenboot-etcd restore --last-good --next-boot")
		greenboot-etcd restore --cancel
		$(typed 0 "greenboot-etcd restore NAME --stop" NAME=stopped)
		$(typed 0 "greenboot-etcd prune")
		# ---- snapshots, in files and elsewhere ----
		$(typed 0 "greenboot-etcd export NAME FILE" NAME=stopped FILE=/var/of-a-backup.db)
		$(typed 0 "greenboot-etcd snapshot save FILE" FILE=/var/running.db)
		$(typed 0 "greenboot-etcd import FILE NAME --etcd-only" FILE=/var/running.db NAME=imported)
		$(typed 0 "greenboot-etcd store push")
		$(typed 0 "greenboot-etcd store list")
		$(typed 0 "greenboot-etcd store prune")
		# ---- units ----
		$(typed 0 "systemctl start greenboot-etcd-backup.timer")
		$(typed 0 "systemctl list-timers greenboot-etcd-backup.timer")
		$(typed 0 "systemctl stop etcd")
		$(typed 0 "greenboot-etcd verify --data --full")
		$(typed 0 "greenboot-etcd restore --last-good")
		mkdir -p /var/lib/microshift-backups
		cp -a /var/lib/etcd /var/lib/microshift-backups/copied
		$(typed 0 "greenboot-etcd import /var/lib/microshift-backups/DEPLOYMENT_BOOT" DEPLOYMENT_BOOT=copied)
		# ---- other applications ----
		$(typed 0 "mkdir -p ${conf%/*}/greenboot-etcd.conf.d")
		$(for name in microshift k3s; do
			typed 0 "cp $docs/examples/$name.conf $conf/50-$name.conf" /usr/share/=/usr/local/share/
			# The application is not installed.
			typed 2 "greenboot-etcd config --check"
			echo "rm $conf/50-$name.conf"
		done)"
}

# Each command of the pages is typed above, or the list names the place that plays it.
every_command() {
	local where command pattern file text missing=''

	while IFS='|' read -r pattern _ file text; do
		[[ $text != = ]] || text=${pattern%%\**}
		grep -qF -- "$text" "$GBE_TOP/$file" || missing+="$pattern: $file does not have \"$text\"; "
	done < <(elsewhere)
	while read -r where command; do
		! grep -qxF -- "$command" "$GBE_MEM/typed" || continue
		while IFS='|' read -r pattern _; do
			# shellcheck disable=SC2053 # a pattern
			[[ $command != $pattern ]] || continue 2
		done < <(elsewhere)
		missing+="$where: $command; "
	done < <(documented)
	assert_eq "commands that nothing types" "$missing" ""
}

# No block of the page is left out above.
every_block() {
	local page
	page=$(sed -n 's/^\.\\" run: //p' "$PAGE" | sort)
	assert_eq "blocks played" "$(sort -u "$GBE_MEM/played" | tr '\n' ' ')" "$(tr '\n' ' ' <<<"$page")"
}

# The last two need the results of all others.
ONLY='' EXCEPT=''
suite_begin "$@"
ELSEWHERE=$GBE_MEM/elsewhere # what is mounted at /mnt
need_nspawn
run_case by-hand by_hand
run_case held held
run_case new-machine new_machine
if built store cluster; then
	run_case pages pages
	[[ ${CASE:-*} != '*' ]] || {
		run_case every-block every_block
		run_case every-command every_command
	}
fi
suite_end
