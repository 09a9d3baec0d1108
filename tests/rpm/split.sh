#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# 0.2.0 was one package. Since 0.2.1, store, certs and cluster have packages of their own. The base works alone, each
# optional package is installed and erased without a trace, and an upgrade from 0.2.0 keeps every verb.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2034 # for isolate: etcd's port is free
OWN_NETWORK=yes
. "$(dirname "$0")/root.bash"
root_need rpms2solv testsolv
root_start
# greenboot and SELinux would require more packages of ours.
root_rpm "$tree" -e distribution
distribution "$tree"

version=$(make --no-print-directory -s print-version)
four=(greenboot-etcd greenboot-etcd-certs greenboot-etcd-cluster greenboot-etcd-store)
data=$tree/var/lib/etcd/default
mkdir -p "$data"
tar -C "$data" --strip-components=1 -xJf tests/data/etcd/etcd34-small-stopped.tar.xz

# one_package: builds 0.2.0, which has the paths of all four packages. Its file: $one.
one_package() {
	local all=$GBE_SCRATCH/all

	mkdir "$all"
	# shellcheck disable=SC2046 # names of files without blanks
	rpm --root "$all" --dbpath /rpmdb --nosignature --nodeps --noscripts -i $(packages RPMS "${four[@]}") || return 1
	rm -r "$all/rpmdb"
	{
		cat <<-EOF2
			%global __os_install_post %{nil}
			%global _build_id_links none
			%global _unpackaged_files_terminate_build 0
			Name: greenboot-etcd
			Version: 0.2.0
			Release: 1
			Summary: The one package of 0.2.0
			License: LGPL-2.1-or-later
			AutoReqProv: no
			%description
			%install
			cp -a $all/. %{buildroot}
			mkdir -p %{buildroot}/var/lib/greenboot-etcd
			%files
			%ghost %dir %attr(0700,root,root) /var/lib/greenboot-etcd
		EOF2
		(cd "$all" && find . -type d -path '*greenboot-etcd*' -printf '%%dir /%P\n' -o ! -type d -printf '/%P\n') | grep -v /.build-id/
	} >"$scratch/one.spec"
	rpmbuild --quiet -bb --define "_topdir $scratch/rpm" "$scratch/one.spec" || return 1
	one=$(echo "$scratch"/rpm/RPMS/*/greenboot-etcd-0.2.0-1.*.rpm)
}

# solved SYSTEM JOB [FLAG]: the packages that dnf and rpm-ostree, with their solver, install or upgrade.
solved() {
	cat >"$scratch/job" <<-EOF
		repo system 0 solv $1.solv
		repo available 0 solv available.solv
		system $(rpm --eval '%{_target_cpu}') rpm system
		poolflags implicitobsoleteusescolors
		solverflags allowvendorchange keepexplicitobsoletes bestobeypolicy keeporphans yumobsoletes ${3-}
		job $2
	EOF
	testsolv -r "$scratch/job" | sed -E 's/^(install|upgrade) (greenboot-etcd[a-z-]*)-[0-9].*/\2/' | sort
}
# solves NAME SYSTEM JOB FLAG PACKAGE...: a case.
solves() { check "$1" "$(solved "$2" "$3" "$4" | diff - <(printf '%s\n' "${@:5}"))"; }

# verbs: those that help lists.
verbs() { in_tree greenboot-etcd help --lines 2>&1 | sed -nE 's/^  ([a-z]+)( .*)?$/\1/p' | sort; }
# start NAME VERB...: a case. The program of each verb starts.
start() {
	local verb

	check "$1" "$([ $# -gt 1 ] || echo "help lists no verb"
		for verb in "${@:2}"; do
			in_tree greenboot-etcd help "$verb" 2>&1 | grep -q "^Usage: greenboot-etcd .* $verb\b" || echo "$verb does not start"
		done)"
}
# works NAME ARGUMENT...: a case. The command succeeds.
works() {
	in_tree greenboot-etcd "${@:2}" >"$scratch/log" 2>&1 </dev/null && ok "$1" || not_ok "$1" "exit status $?: $(tail -n 1 "$scratch/log")"
}
# refused NAME PACKAGE ARGUMENT...: a case. The command names the package that it lacks.
refused() {
	local status

	in_tree greenboot-etcd "${@:3}" >"$scratch/log" 2>&1 </dev/null
	status=$?
	[ $status -eq 2 ] && grep -q " $2, which is not installed; see " "$scratch/log" && ok "$1" ||
		not_ok "$1" "exit status $status: $(tail -n 1 "$scratch/log")"
}

if ! one_package >"$scratch/log" 2>&1; then
	not_ok one-package "$(tail -n 5 "$scratch/log" | tr '\n' ';')"
	finish
fi
check one-package-has-all-paths "$(
	# shellcheck disable=SC2046 # names of files without blanks
	rpm -qpl --nosignature $(packages RPMS "${four[@]}") 2>/dev/null | grep -v /.build-id | sort -u |
		diff - <(rpm -qpl --nosignature "$one" 2>/dev/null | sort)
)"

# Without weak dependencies, an update has to bring all, and a new image the base alone.
rpms2solv "$scratch"/rpm/RPMS/noarch/distribution-*.rpm >"$scratch/new.solv"
rpms2solv "$scratch"/rpm/RPMS/noarch/distribution-*.rpm "$one" >"$scratch/old.solv"
rpms2solv build/rpm/RPMS/*/*.rpm >"$scratch/available.solv"
solves update-brings-all old "update all packages" ignorerecommended "${four[@]}"
solves image-without-weak-dependencies new "install name greenboot-etcd" ignorerecommended greenboot-etcd
solves image-with-weak-dependencies new "install name greenboot-etcd" "" "${four[@]}"
solves cluster-brings-certs new "install name greenboot-etcd-cluster" ignorerecommended greenboot-etcd{,-certs,-cluster}

# The base alone.
# shellcheck disable=SC2046 # a name without blanks
silent base-installed -i $(packages RPMS greenboot-etcd)
silent base-installed-verified -V greenboot-etcd
verbs >"$scratch/base-verbs"
check base-verbs "$(grep -xE 'store|cluster|member' "$scratch/base-verbs")"
# shellcheck disable=SC2046 # words
start base-verbs-start $(<"$scratch/base-verbs")
works base-backup backup one
works base-verify verify one --full
works base-list list
works base-certs certs list
refused base-store greenboot-etcd-store store push
refused base-certs-init greenboot-etcd-certs certs init
refused base-cluster greenboot-etcd-cluster cluster status
refused base-member greenboot-etcd-cluster member list

# Each optional package comes and goes.
# shellcheck disable=SC2046 # a name without blanks
root_rpm "$tree" -i $(packages RPMS greenboot-etcd-cluster)
grep -q '^\sgreenboot-etcd-certs.* is needed by greenboot-etcd-cluster' "$scratch/log" && ok cluster-needs-certs ||
	not_ok cluster-needs-certs "$(cat "$scratch/log")"
all_files >"$scratch/without"
for name in store certs cluster; do
	set -- "greenboot-etcd-$name"
	[ $name != cluster ] || set -- greenboot-etcd-certs "$1"
	# shellcheck disable=SC2046 # names of files without blanks
	silent $name-installed -i $(packages RPMS "$@")
	silent $name-installed-verified -V "$@"
	start $name-starts $name
	silent $name-erased -e "$@"
	check $name-nothing-left "$(all_files | diff "$scratch/without" -)"
done
check base-verbs-again "$(verbs | diff "$scratch/base-verbs" -)"
refused erased-store greenboot-etcd-store store push
refused erased-certs greenboot-etcd-certs certs init
refused erased-cluster greenboot-etcd-cluster cluster status
refused erased-member greenboot-etcd-cluster member list
silent base-erased -e greenboot-etcd
rm -rf "$tree/var/lib/greenboot-etcd"

# The upgrade.
silent one-package-installed -i "$one"
verbs >"$scratch/verbs"
check one-package-verbs "$(for verb in store certs cluster member; do
	grep -qx $verb "$scratch/verbs" || echo "there is no $verb"
done)"
works one-package-backup backup one
# shellcheck disable=SC2046 # names of files without blanks
silent upgraded -U $(packages RPMS "${four[@]}")
silent upgraded-verified -V "${four[@]}"
root_rpm "$tree" -qa --qf '%{NAME} %{VERSION}\n' 'greenboot-etcd*'
check upgraded-packages "$(sort "$scratch/log" | diff - <(printf "%s $version\n" "${four[@]}"))"
check upgraded-verbs "$(verbs | diff "$scratch/verbs" -)"
# shellcheck disable=SC2046 # words
start upgraded-verbs-start $(<"$scratch/verbs")
works upgraded-verify verify one --full
mkdir "$tree/var/tmp/copies"
works upgraded-store store push one --store=/var/tmp/copies
works upgraded-store-verify store verify --store=/var/tmp/copies
in_tree etcd --data-dir=/var/lib/etcd/default >"$scratch/etcd" 2>&1 &
etcd=$!
works upgraded-health health --wait=60s
works upgraded-cluster cluster status
works upgraded-member member list
kill $etcd
wait $etcd
# With --root, systemd is not asked about etcd's service.
check upgraded-certs "$("$tree/usr/bin/greenboot-etcd" --root="$tree" certs init 2>&1 >/dev/null || echo "exit status $?")"

silent all-erased -e "${four[@]}"
rm -rf "$data" "$tree"/var/lib/greenboot-etcd{,-pki} "$tree/var/tmp/copies"
check nothing-left "$(left_behind)"
finish
