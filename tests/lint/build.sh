#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The build keeps its own flags when others are added, and install puts files where the variables say.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"
export MAKEFLAGS=''

plan=$(make --no-print-directory -n VARIANT=lint-flags CC=outside-cc CFLAGS='-O7 -DOUTSIDE_CFLAGS' \
	CPPFLAGS=-DOUTSIDE_CPPFLAGS LDFLAGS=-Wl,--outside AR=outside-ar all 2>&1)
rm -rf build/lint-flags
compile=$(grep -m 1 -- ' -c -o ' <<<"$plan")
link=$(grep -m 1 -- ' -pie ' <<<"$plan")
for word in outside-cc -O7 -DOUTSIDE_CFLAGS -DOUTSIDE_CPPFLAGS -Wall -std=gnu11 -fPIC -D_FORTIFY_SOURCE=3 \
	-fstack-protector-strong; do
	grep -qF -- "$word" <<<"$compile" && ok "compile-has-$word" ||
		not_ok "compile-has-$word" "not in: $compile"
done
for word in outside-cc -O7 -Wl,--outside -Wl,--gc-sections -Wl,-z,now -Wl,-z,relro; do
	grep -qF -- "$word" <<<"$link" && ok "link-has-$word" || not_ok "link-has-$word" "not in: $link"
done
grep -qF 'outside-ar rcs' <<<"$plan" && ok archive-by-outside-ar ||
	not_ok archive-by-outside-ar "AR from outside is not used"

# Every target and every knob is explained.
help=$(make --no-print-directory help)
check help-names-targets "$(grep -oE '^\.PHONY: .*' Makefile | tr ' ' '\n' |
	grep -E '^(all|check.*|lint|warnings|asan|demo|bench|format|install|clean|deps|deps-all|rpm|source-archive|help)$' | sort -u |
	while read -r target; do grep -qE "^  $target( |\$)" <<<"$help" || echo "$target"; done)"
check help-names-knobs "$(grep -oE '^[A-Za-z_]+ \?=' Makefile | sed 's/ ?=//' | sort -u |
	while read -r knob; do grep -qw -- "$knob" <<<"$help" || echo "$knob"; done)"

version=$(make --no-print-directory -s print-version)
grep -q "^## ${version//./\\.}\b" NEWS.md && ok news-has-version ||
	not_ok news-has-version "NEWS.md says nothing of $version"

# `make install` puts each file where the variables say, with the right mode.
root=$scratch/root
if make --no-print-directory install DESTDIR="$root" >"$scratch/log" 2>&1; then
	ok install-runs
else
	not_ok install-runs "$(tail -n 3 "$scratch/log" | tr '\n' ';')"
fi
installed() {
	[ "$(stat -c %a "$root$2" 2>/dev/null)" = "$1" ] && ok "installs-$2" ||
		not_ok "installs-$2" "mode $(stat -c %a "$root$2" 2>&1), should be $1"
}
[ -z "$(files 'src/cli/*.c')" ] || installed 755 /usr/bin/greenboot-etcd
while IFS= read -r path; do
	name=$(basename "$path" .c)
	if [ "$name" = generator ]; then
		installed 755 /usr/lib/systemd/system-generators/greenboot-etcd-generator
	else
		installed 755 "/usr/libexec/greenboot-etcd/$name"
	fi
done < <(files 'hooks/*.c')
for name in $PROGRAMS; do
	installed 755 "/usr/libexec/greenboot-etcd/greenboot-etcd-$name"
done
while IFS= read -r path; do
	installed 755 "/usr/lib/greenboot/${path#greenboot.d/}"
	grep -q /usr/libexec/greenboot-etcd/ "$path" || not_ok "shim-$path" "starts no program"
done < <(files 'greenboot.d/*.sh')
while IFS= read -r path; do
	installed 644 "/usr/lib/systemd/system/greenboot-etcd-${path##*/}"
done < <(unit_files)
while IFS= read -r path; do
	installed 644 "/usr/share/greenboot-etcd/schema/${path##*/}"
done < <(files 'data/schema/*.json')

root_files() { (cd "$1" && find . ! -type d | sort); }
check installs-member "$(cd "$root/usr/libexec/greenboot-etcd" && readlink greenboot-etcd-member | diff - <(echo greenboot-etcd-cluster))"
# A copy, since other suites look at the build.
rm -rf build/lint-base
cp -a "$BUILD" build/lint-base
rm build/lint-base/exports
make --no-print-directory install VARIANT=lint-base PROGRAMS= DESTDIR="$scratch/base" >"$scratch/log" 2>&1 ||
	not_ok install-base-runs "$(tail -n 3 "$scratch/log" | tr '\n' ';')"
check install-base-alone "$(diff <(root_files "$root") <(root_files "$scratch/base") | sed -n 's/^[<>] //p' | diff - <(
	for name in store certs cluster; do
		echo "./usr/libexec/greenboot-etcd/greenboot-etcd-$name"
		echo "./usr/share/man/man8/greenboot-etcd-$name.8"
		files "hooks/$name/*" | sed 's|.*/|./usr/lib/systemd/system/greenboot-etcd-|'
	done | sort - <(echo ./usr/libexec/greenboot-etcd/greenboot-etcd-member)
))"
# All programs after the base alone: the library exports what they need, so they have no copy of its code.
make --no-print-directory all VARIANT=lint-base >"$scratch/log" 2>&1 || not_ok all-after-base "$(tail -n 3 "$scratch/log" | tr '\n' ';')"
for name in store certs cluster; do
	check all-after-base-$name "$(cmp build/lint-base/hooks/greenboot-etcd-$name "$BUILD/hooks/greenboot-etcd-$name" 2>&1)"
done
rm -rf build/lint-base

# Files that name a program name its new place after an installation with other directories.
root=$scratch/elsewhere
make --no-print-directory install DESTDIR="$root" prefix=/opt/g libexecdir=/opt/x \
	>"$scratch/log" 2>&1 || not_ok install-elsewhere "$(tail -n 3 "$scratch/log" | tr '\n' ';')"
mkdir -p "$root" # there may be nothing to install yet
check install-stays-below-prefix "$(find "$root" -type f | sed "s|^$root||" | grep -vE '^/opt/[gx]/')"
check install-relocates "$(grep -rIl '/usr/libexec/greenboot-etcd' "$root" 2>/dev/null |
	grep -vE '/(share/(man|doc)|systemd/catalog)/')"
finish
