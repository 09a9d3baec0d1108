# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# A root into which rpm installs: the Debian of the system tests, and one package that stands for the distribution's.
# Sourced. The suite runs in namespaces of its own, so that its mounts are gone when it ends, however it ends.

# shellcheck source=tests/lib/scratch.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/scratch.sh"
isolate "$@"
export TMPDIR=$GBE_SCRATCH
# shellcheck source=tests/lint/lib.bash
. "$GBE_TOP/tests/lint/lib.bash"
PATH=$PATH:/usr/sbin:/sbin

# root_need PROGRAM...
root_need() {
	local program

	for program in rpm rpmbuild ostree mmdebstrap semodule "$@"; do
		command -v "$program" >/dev/null && continue
		skip "${0##*/}" "$program is not installed: make deps-all"
		finish
	done
}

# root_programs ROOT PROGRAM...: copies programs of this machine, and the libraries that the root lacks. The root is of the
# same release.
root_programs() {
	local root=$1 file programs

	readarray -t programs < <(command -v "${@:2}")
	for file in "${programs[@]}" $(ldd "${programs[@]}" | grep -o '/[^ :]*[^ :]' | sort -u); do
		[[ -e $root$file ]] || cp --parents -L "$file" "$root"
	done
}

# root_start: the root of a suite whose packages are installed, at $tree.
root_start() {
	tree=$GBE_SCRATCH/tree
	if ! root_make "$tree" >"$scratch/made" 2>&1; then
		not_ok root "$(tail -n 5 "$scratch/made" | tr '\n' ';')"
		finish
	fi
	mount -t proc proc "$tree/proc"
	mount --bind /dev "$tree/dev"
	mount -t tmpfs tmpfs "$tree/run"
	# Run them before the first listing: they write files of their own.
	in_tree systemd-tmpfiles --create >/dev/null 2>&1
	in_tree journalctl --update-catalog
	all_files >"$scratch/before"
}
in_tree() { chroot "$tree" "$@"; }

# packages older|RPMS NAME...: their files.
packages() { find "build/rpm/$1" -name '*.rpm' | grep -E "/($(IFS='|' && echo "${*:2}"))-[0-9]"; }
# silent NAME RPM-OPTION...: a case. A scriptlet that fails says so.
silent() {
	root_rpm "$tree" "${@:2}"
	check "$1" "$(cat "$scratch/log")"
}
# all_files: all of the tree but rpm's database and SELinux's policy, with types and modes.
all_files() {
	find "$tree" -xdev -printf '%P %y %m\n' | grep -vE '^(var/lib/(rpm|selinux)|etc/selinux)/' | sort
}
# left_behind: what our packages leave in the tree, and what they take away. Directories without our name in it are
# other packages', in Fedora.
left_behind() {
	all_files | diff "$scratch/before" - | grep -E '^<|^> .* [^d] [0-7]+$|^> .*greenboot[-_]etcd'
}

# root_make ROOT: SELinux's store in it is this machine's, under the name that Fedora's policy has.
root_make() {
	local root=$1 repo

	repo=$(tests/system/base this) || return 1
	ostree --repo="$repo" checkout --force-copy base/this "$root" || return 1
	mv "$root/usr/etc" "$root/etc"
	mkdir -p "$root"/var/{lib/rpm,lib/selinux,tmp,roothome} "$root/sysroot/tmp"
	root_programs "$root" rpm semodule load_policy selinuxenabled setfiles sefcontext_compile
	cp -a --parents /usr/lib/rpm /usr/libexec/selinux /etc/selinux/semanage.conf "$root"
	cp -a /etc/selinux/default "$root/etc/selinux/targeted"
	cp -a /var/lib/selinux/default "$root/var/lib/selinux/targeted"
	echo SELINUXTYPE=targeted >"$root/etc/selinux/config"
	# Debian's policy has a rule for this user.
	echo 'sddm:x:990:990::/:/usr/sbin/nologin' >>"$root/etc/passwd"
	distribution "$root" greenboot selinux-policy-targeted
}

# root_rpm ROOT OPTION...: its output to the log, but for Debian's advice against rpm and what libsemanage says when all
# goes well. It runs scriptlets in the root.
root_rpm() {
	{
		rpm --root "$1" --dbpath /var/lib/rpm --nosignature "${@:2}" 2>&1 || echo "rpm ${*:2}: exit status $?"
	} | grep -vE '^rpm: (RPM should|However)|Removing last greenboot-etcd module' >"$scratch/log"
}

# distribution ROOT [PROVIDES]: a package that provides what the packages require of other packages, with triggers such as
# systemd's package has in Fedora. (/home and the like are links in this tree.)
distribution() {
	{
		cat <<-'EOF'
			Name: distribution
			Version: 1
			Release: 1
			Summary: Stand-in for Fedora's packages
			License: LGPL-2.1-or-later
			BuildArch: noarch
		EOF
		printf 'Provides: %s\n' /bin/{sh,bash} systemd etcd dracut sos policycoreutils{,-python-utils} selinux-policy{,-base} \
			libselinux-utils "${@:2}"
		rpm -qp --nosignature --requires build/rpm/RPMS/*/*.rpm 2>/dev/null | grep -E '^(lib.*\.so\.|rtld)' | sort -u |
			sed 's/^/Provides: /'
		cat <<-'EOF'
			%description
			%transfiletriggerin -- /usr/lib/tmpfiles.d
			systemd-tmpfiles --create --prefix=/var/lib --prefix=/run
			%transfiletriggerin -- /usr/lib/systemd/catalog
			journalctl --update-catalog
			%files
		EOF
	} >"$scratch/distribution.spec"
	rpmbuild --quiet -bb --define "_topdir $scratch/rpm" "$scratch/distribution.spec" >"$scratch/log" 2>&1 || return 1
	root_rpm "$1" -i "$scratch"/rpm/RPMS/noarch/distribution-*.rpm
	[[ ! -s $scratch/log ]] || { cat "$scratch/log" && return 1; }
}
