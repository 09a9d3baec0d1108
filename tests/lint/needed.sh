#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What a program needs at run time is what it uses, no more: nobody loads what a question needs that it does not ask
# (libcurl with its TLS library, libostree, libarchive), and nobody anything that is not on this list.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

common='libgreenboot-etcd-[0-9.]*\.so|libc\.so|ld-linux.*\.so|libgcc_s\.so|libglib-2\.0\.so|libgobject-2\.0\.so|libgio-2\.0\.so
|libjson-glib-1\.0\.so|libsystemd\.so|libbtrfsutil\.so'
common=$(tr -d '\n' <<<"$common")
sanitizers='lib(a|ub|l)san\.so|libm\.so|libpthread\.so|libdl\.so|librt\.so|libstdc\+\+\.so'
[ -z "${SANITIZERS:-}" ] || common="$common|$sanitizers"

# allowance PROGRAM: what it may need, as a regular expression.
allowance() {
	case $1 in
	generator) echo 'libc\.so|ld-linux.*\.so|libglib-2\.0\.so|libjson-glib-1\.0\.so|libgobject-2\.0\.so' ;;
	# All that an initramfs should have to carry.
	initramfs) echo 'libc\.so|ld-linux.*\.so|libglib-2\.0\.so|libjson-glib-1\.0\.so|libgobject-2\.0\.so|libbtrfsutil\.so' ;;
	*) echo "$common" ;;
	esac
}

found=0
for program in "$BUILD/greenboot-etcd" "$BUILD"/hooks/*; do
	[ -f "$program" ] && [ -x "$program" ] || continue
	found=$((found + 1))
	name=${program##*/}
	check "needed-$name" "$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -vE "^($(allowance "$name"))" | sed 's/^/needs /')"
	# Position-independent, symbols bound at start, and nothing writable and executable at once.
	check "hardened-$name" "$(
		readelf -h "$program" | grep -q 'Type:.*DYN' || echo "not position-independent"
		readelf -d "$program" | grep -qE 'BIND_NOW|FLAGS_1.*NOW' || echo "not bound at start"
		readelf -lW "$program" | grep -q GNU_RELRO || echo "no RELRO"
		readelf -lW "$program" | grep GNU_STACK | grep -q RWE && echo "executable stack"
	)"
done
[ $found -gt 0 ] || not_ok needed "no programs in $BUILD: build first"

# What is loaded when it is needed has the name that the linker would have written down, and is not needed.
while IFS= read -r soname; do
	library=$(${CC:-cc} -print-file-name="${soname%%.so*}.so")
	# libyaml-0.so.2 is linked as libyaml.
	[[ $library == /* ]] || library=$(${CC:-cc} -print-file-name="${soname%%-[0-9]*}.so")
	check "dlopen-$soname" "$(readelf -d "$library" 2>&1 | grep -qF "soname: [$soname]" || echo "$library is another one")"
done < <(sed -n 's/^#define SONAME "\(.*\)"$/\1/p' src/*/*.c)

# A function that one file alone uses is static there, and one that none uses goes.
alone() {
	find "$BUILD/src" "$BUILD/hooks" -name '*.o' -exec nm -A {} + | awk '
		$(NF - 1) == "U" { used[$NF] = 1 }
		$(NF - 1) == "T" { defined[$NF] = $1 }
		END { for (name in defined) if (name ~ /^gbe_/ && !(name in used)) print name, defined[name] }' |
		while read -r name object; do
			grep -qrw --include='*.[ch]' "$name" tests || echo "$name: ${object%%:*}"
		done
}
check functions-used "$(alone)"

# All of it together stays small, and so does what goes into each initramfs.
size() {
	strip -o "$scratch/stripped" "$1" && stat -c %s "$scratch/stripped" || not_ok "strip-${1##*/}" "strip failed" >&2
}
if [ $found -gt 0 ] && [ -z "${SANITIZERS:-}" ]; then
	total=0
	for program in "$BUILD/greenboot-etcd" "$BUILD"/hooks/*; do
		[ -f "$program" ] && [ -x "$program" ] && [ "${program##*/}" != initramfs ] || continue
		total=$((total + $(size "$program")))
	done
	# 1 MiB, and seven sixteenths for the hardening flags, the rehearsal, the bucket, the certificates, the members and
	# the detection, which the generator has, too.
	[ $total -lt $((1024 * 1024 * 23 / 16)) ] && ok binaries-small ||
		not_ok binaries-small "all programs together are $total bytes stripped; 1.4375 MiB is the limit"
	total=$(size "$BUILD/hooks/initramfs")
	[ "$total" -lt $((592 * 1024)) ] && ok initramfs-small ||
		not_ok initramfs-small "it is $total bytes stripped; 592 KiB is the limit"
fi
finish
