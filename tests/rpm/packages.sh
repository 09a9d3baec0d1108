#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packages that `make rpm` made: files and their modes, requirements of each package, and scriptlets that touch no
# unit. Without rpmbuild, the suite is skipped.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lint/lib.bash"

if ! command -v rpmbuild >/dev/null; then
	skip packages "rpmbuild is not installed: make deps-all"
	finish
fi
version=$(make --no-print-directory -s print-version)

# package NAME: its file.
package() { find build/rpm/RPMS -name "$1-$version-*.rpm"; }
query() { # NAME QUERY...
	local file
	file=$(package "$1")
	rpm -qp --nosignature "${@:2}" "$file" 2>/dev/null
}
# contents NAME: "mode path" of each installed file, a ghost with a "g"; without the debugger's links.
contents() {
	query "$1" --qf '[%{FILEMODES:octal} %{FILENAMES} %{FILEFLAGS:fflags}\n]' |
		grep -v '/\.build-id' | sed "s/$version/V/g" |
		awk '{ print substr($1, length($1) - 3) ($3 == "g" ? " g " : " ") $2 }' | sort -k 2
}

names=(greenboot-etcd greenboot-etcd-{store,certs,cluster,greenboot,dracut,selinux,sos} cockpit-greenboot-etcd)
for name in "${names[@]}" greenboot-etcd-microshift greenboot-etcd-k3s; do
	[ "$(package "$name" | wc -l)" -eq 1 ] && ok "built-$name" ||
		not_ok "built-$name" "found: $(package "$name")"
done
[ $failures -eq 0 ] || finish
release=$(query greenboot-etcd --qf '%{RELEASE}')

# The spec lists each file in the programs' and systemd's directories by name, without a pattern.
contents greenboot-etcd | grep -vE '/share/(doc|licenses|man|greenboot-etcd)' >"$scratch/main"
check main-files "$(diff - "$scratch/main" <<'FILES'
0755 /usr/bin/greenboot-etcd
0644 /usr/lib/systemd/catalog/greenboot-etcd.catalog
0755 /usr/lib/systemd/system-generators/greenboot-etcd-generator
0644 /usr/lib/systemd/system/greenboot-etcd-backup.service
0644 /usr/lib/systemd/system/greenboot-etcd-backup.timer
0644 /usr/lib/systemd/system/greenboot-etcd-defrag.service
0644 /usr/lib/systemd/system/greenboot-etcd-defrag.timer
0644 /usr/lib/systemd/system/greenboot-etcd-finalize.service
0644 /usr/lib/systemd/system/greenboot-etcd-monitor.service
0644 /usr/lib/systemd/system/greenboot-etcd-monitor.timer
0644 /usr/lib/systemd/system/greenboot-etcd-preflight.path
0644 /usr/lib/systemd/system/greenboot-etcd-preflight.service
0644 /usr/lib/systemd/system/greenboot-etcd-prerun.service
0644 /usr/lib/systemd/system/greenboot-etcd-scrub.service
0644 /usr/lib/systemd/system/greenboot-etcd-scrub.timer
0644 /usr/lib/systemd/system/greenboot-etcd-start.target
0644 /usr/lib/systemd/system/greenboot-etcd-used.service
0644 /usr/lib/systemd/system/greenboot-etcd-used.timer
0644 /usr/lib/tmpfiles.d/greenboot-etcd.conf
0755 /usr/libexec/greenboot-etcd
0755 /usr/libexec/greenboot-etcd/backup
0755 /usr/libexec/greenboot-etcd/defrag
0755 /usr/libexec/greenboot-etcd/finalize
0755 /usr/libexec/greenboot-etcd/libgreenboot-etcd-V.so
0755 /usr/libexec/greenboot-etcd/monitor
0755 /usr/libexec/greenboot-etcd/preflight
0755 /usr/libexec/greenboot-etcd/prerun
0755 /usr/libexec/greenboot-etcd/scrub
0755 /usr/libexec/greenboot-etcd/used
0644 /usr/share/bash-completion/completions/greenboot-etcd
0644 /usr/share/fish/vendor_completions.d/greenboot-etcd.fish
0644 /usr/share/zsh/site-functions/_greenboot-etcd
0700 g /var/lib/greenboot-etcd
FILES
)"
check store-files "$(diff - <(contents greenboot-etcd-store) <<'FILES'
0644 /usr/lib/systemd/system/greenboot-etcd-prove.service
0644 /usr/lib/systemd/system/greenboot-etcd-prove.timer
0644 /usr/lib/systemd/system/greenboot-etcd-push.service
0644 /usr/lib/systemd/system/greenboot-etcd-push.timer
0644 /usr/lib/systemd/system/greenboot-etcd-requests.path
0644 /usr/lib/systemd/system/greenboot-etcd-requests.service
0644 /usr/lib/systemd/system/greenboot-etcd-requests.timer
0644 /usr/lib/systemd/system/greenboot-etcd-send.service
0644 /usr/lib/systemd/system/greenboot-etcd-send.timer
0755 /usr/libexec/greenboot-etcd
0755 /usr/libexec/greenboot-etcd/greenboot-etcd-store
0644 /usr/share/man/man8/greenboot-etcd-store.8.gz
FILES
)"
check certs-files "$(diff - <(contents greenboot-etcd-certs) <<'FILES'
0644 /usr/lib/systemd/system/greenboot-etcd-renew.service
0644 /usr/lib/systemd/system/greenboot-etcd-renew.timer
0755 /usr/libexec/greenboot-etcd
0755 /usr/libexec/greenboot-etcd/greenboot-etcd-certs
0644 /usr/share/man/man8/greenboot-etcd-certs.8.gz
FILES
)"
check cluster-files "$(diff - <(contents greenboot-etcd-cluster) <<'FILES'
0644 /usr/lib/systemd/system/greenboot-etcd-lock.path
0644 /usr/lib/systemd/system/greenboot-etcd-lock.service
0644 /usr/lib/systemd/system/greenboot-etcd-lock.timer
0644 /usr/lib/systemd/system/greenboot-etcd-rejoin.service
0644 /usr/lib/systemd/system/greenboot-etcd-rejoin.timer
0755 /usr/libexec/greenboot-etcd
0755 /usr/libexec/greenboot-etcd/greenboot-etcd-cluster
0777 /usr/libexec/greenboot-etcd/greenboot-etcd-member
0644 /usr/share/man/man8/greenboot-etcd-cluster.8.gz
FILES
)"
contents greenboot-etcd-greenboot >"$scratch/greenboot"
check greenboot-files "$(diff - "$scratch/greenboot" <<'FILES'
0755 /usr/lib/greenboot/check/required.d/40_etcd_health.sh
0755 /usr/lib/greenboot/green.d/40_etcd_green.sh
0755 /usr/lib/greenboot/red.d/40_etcd_red.sh
0644 /usr/lib/systemd/system/greenboot-etcd-green.service
0755 /usr/libexec/greenboot-etcd
0755 /usr/libexec/greenboot-etcd/green
0755 /usr/libexec/greenboot-etcd/health
0755 /usr/libexec/greenboot-etcd/red
FILES
)"
contents greenboot-etcd-dracut >"$scratch/dracut"
check dracut-files "$(diff - "$scratch/dracut" <<'FILES'
0755 /usr/lib/dracut/modules.d/50greenboot-etcd
0644 /usr/lib/dracut/modules.d/50greenboot-etcd/greenboot-etcd-restore.service
0755 /usr/lib/dracut/modules.d/50greenboot-etcd/greenboot-etcd.sh
0755 /usr/lib/dracut/modules.d/50greenboot-etcd/module-setup.sh
0755 /usr/libexec/greenboot-etcd
0755 /usr/libexec/greenboot-etcd/initramfs
FILES
)"
check selinux-files "$(contents greenboot-etcd-selinux |
	diff - <(echo '0644 /usr/share/selinux/packages/targeted/greenboot-etcd.cil'))"
check sos-files "$(contents greenboot-etcd-sos |
	diff - <(echo '0644 /usr/lib/python3/site-packages/sos/report/plugins/greenboot_etcd.py'))"
check cockpit-files "$(contents cockpit-greenboot-etcd | diff - <(
	echo "0755 /usr/share/cockpit/greenboot-etcd"
	for file in actions.js backups.js dialog.js dom.js headline.js health.js index.html manifest.json offsite.js page.css page.js \
		program.js story.js support.js theme.js timeline.js update.js words.js; do
		echo "0644 /usr/share/cockpit/greenboot-etcd/$file"
	done
	printf '0644 /usr/share/doc/greenboot-etcd/docs/%s\n' cockpit-dark.png cockpit.md cockpit.png
	echo "0644 /usr/share/metainfo/org.greenboot_etcd.cockpit.metainfo.xml"
))"
for system in microshift k3s; do
	check $system-files "$(contents greenboot-etcd-$system | diff - <(
		echo "0755 /usr/lib/greenboot-etcd"
		echo "0755 /usr/lib/greenboot-etcd/greenboot-etcd.conf.d"
		echo "0644 /usr/lib/greenboot-etcd/greenboot-etcd.conf.d/50-$system.conf"
	))"
done
check one-owner "$(for name in "${names[@]}"; do contents "$name" | grep -v '^0755 /usr/libexec/greenboot-etcd$'; done | sort | uniq -d)"
# No file is in /etc: ostree would merge it into a deployment without the package.
check nothing-in-etc "$(grep -h ' /etc' "$scratch/main" "$scratch/greenboot")"

requires() { query "$1" --requires | grep -vE '^(rpmlib|lib|rtld|ld-linux)' | sort -u; }
check main-requires "$(requires greenboot-etcd | diff - <(
	echo "(greenboot-etcd-greenboot = $version-$release if greenboot)"
	echo "(greenboot-etcd-selinux = $version-$release if selinux-policy-targeted)"
	echo systemd
))"
isa=$(rpm --eval '%{_isa}')
for name in store certs; do
	check $name-requires "$(requires greenboot-etcd-$name | diff - <(echo "greenboot-etcd$isa = $version-$release"))"
done
check cluster-requires "$(requires greenboot-etcd-cluster | diff - <(
	echo "greenboot-etcd$isa = $version-$release"
	echo "greenboot-etcd-certs$isa = $version-$release"
))"
check dracut-requires "$(requires greenboot-etcd-dracut | grep -v '^greenboot-etcd(' | diff - <(
	echo /bin/bash
	echo /bin/sh
	echo dracut
))"
check greenboot-requires "$(requires greenboot-etcd-greenboot | grep -v '^greenboot-etcd(' | diff - <(
	echo /bin/bash
	echo greenboot
))"
check sos-requires "$(requires greenboot-etcd-sos | grep -v '^greenboot-etcd(' | diff - <(
	echo "greenboot-etcd = $version-$release"
	echo sos
))"
check cockpit-requires "$(requires cockpit-greenboot-etcd | diff - <(
	echo cockpit-bridge
	echo "greenboot-etcd = $version-$release"
))"
check selinux-requires "$(query greenboot-etcd-selinux --requires | grep -v '^rpmlib' | sort -u | diff - <(
	printf '%s\n' /bin/sh libselinux-utils policycoreutils policycoreutils-python-utils selinux-policy selinux-policy-base \
		selinux-policy-targeted
))"
# No other program uses the programs' own library.
check library-is-private "$(for name in greenboot-etcd greenboot-etcd-{store,certs,cluster,greenboot}; do
	query "$name" --requires --provides | grep -F libgreenboot-etcd
done)"

check no-scriptlets "$(for name in "${names[@]}"; do
	[ "$name" = greenboot-etcd-selinux ] || query "$name" --scripts --triggers --filetriggers
done)"
check scriptlets-start-nothing "$(query greenboot-etcd-selinux --scripts |
	grep -E 'systemctl|service |restart|preset|enable ')"
# The macros of SELinux, by the commands that they run on Fedora and here.
module=/usr/share/selinux/packages/targeted/greenboot-etcd.cil
check selinux-scriptlets "$(query greenboot-etcd-selinux --scripts >"$scratch/scripts"
while read -r scriptlet command; do
	sed "/^$scriptlet scriptlet /,/ scriptlet /!d" "$scratch/scripts" | grep -q -- "$command" || echo "$scriptlet: $command is missing"
done <<EOF
preinstall cp .*contexts/files/file_contexts
postinstall semodule -n -s targeted -X 200 -i $module
postuninstall semodule -n -s targeted -X 200 -r greenboot-etcd
posttrans fixfiles -C .* restore
EOF
grep '%' "$scratch/scripts")"

# All packages are installed together and erased together, and no file is left. The installed programs are hardened as
# Fedora's are.
tree=$scratch/tree
mkdir "$tree"
in_tree() { rpm --root "$tree" --dbpath /var/lib/rpm --nodeps --noscripts "$@" >"$scratch/log" 2>&1; }
# programs NAME: the package's ELF files.
programs() {
	query "$1" --qf '[%{FILEMODES:octal} %{FILENAMES}\n]' | sed -n "s|^100755 |$tree|p" | grep -v /.build-id/ | while IFS= read -r file; do
		[ "$(head -c 4 "$file")" != $'\177ELF' ] || echo "$file"
	done
}
# libraries NAME: those that the package's programs are linked with, or load by name.
libraries() { programs "$1" | xargs -r grep -ahoE '\blib[A-Za-z0-9_+.-]+\.so\.[0-9]+' | sort -u; }
ours() { find "$tree" -path '*greenboot[-_]etcd*' -printf '%P\n' | sort; }
# shellcheck disable=SC2046 # names of files without blanks
if in_tree --nosignature -i $(for name in "${names[@]}"; do package "$name"; done) &&
	[ "$(ours | wc -l)" -gt 60 ]; then
	check installed-hardened "$(HARDENED=$tree tests/lint/hardened.sh | grep '^not ok')"
	for name in "${names[@]}"; do
		check "$name-libraries" "$(query "$name" --requires | grep -oE '^lib[^(]+\.so\.[0-9]+' | sort -u | diff - <(libraries "$name"))"
	done
	mapfile -t stripped < <(programs greenboot-etcd)
	strip "${stripped[@]}"
	whole=0 size=0
	while read -r mode path flags; do
		[[ $mode == 100* && $path != */.build-id/* ]] || continue
		bytes=$(stat -c %s "$tree$path")
		whole=$((whole + bytes))
		[[ $flags == *d* ]] || size=$((size + bytes))
	done < <(query greenboot-etcd --qf '[%{FILEMODES:octal} %{FILENAMES} %{FILEFLAGS:fflags}\n]')
	echo "base: $((whole >> 10)) KiB installed, $((size >> 10)) KiB without documentation (rpm --nodocs)"
	[ $size -gt 0 ] && [ $size -le $((1408 << 10)) ] && ok base-size ||
		not_ok base-size "the base takes $((size >> 10)) KiB; 1408 KiB is the limit"
	in_tree -e "${names[@]}" || not_ok erased "$(tail -n 3 "$scratch/log" | tr '\n' ';')"
	check erased-together "$(ours)"
else
	not_ok installed "$(ours | wc -l) files: $(tail -n 3 "$scratch/log" | tr '\n' ';')"
fi
check man-pages-compressed "$(contents greenboot-etcd | grep '/man/man./' | grep -v '\.gz$')"

[ "$(sed -n 's/^Version: *//p' rpm/greenboot-etcd.spec)" = "$version" ] && ok spec-version ||
	not_ok spec-version "the spec is not of version $version"

# The guard guards: a package with one file more is not the one that is listed.
(
	cat "$scratch/greenboot"
	echo "0755 /usr/libexec/greenboot-etcd/more"
) >"$scratch/more"
diff -q "$scratch/greenboot" "$scratch/more" >/dev/null && not_ok packages-can-fail "diff finds nothing" ||
	ok packages-can-fail
finish
