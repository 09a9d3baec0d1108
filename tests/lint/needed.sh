#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A program needs only libraries of a short list. Libraries that some calls alone need (libcurl with its TLS library,
# libostree, libarchive) are loaded by these calls.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

common='libgreenboot-etcd-[0-9.]*\.so|libc\.so|ld-linux.*\.so|libgcc_s\.so|libglib-2\.0\.so|libgobject-2\.0\.so|libgio-2\.0\.so
|libjson-glib-1\.0\.so|libsystemd\.so|libbtrfsutil\.so'
common=$(tr -d '\n' <<<"$common")
sanitizers='lib(a|ub|l)san\.so|libm\.so|libpthread\.so|libdl\.so|librt\.so|libstdc\+\+\.so'
[ -z "${SANITIZERS:-}" ] || common="$common|$sanitizers"

# allowance PROGRAM: the libraries that it may need, as a regular expression.
allowance() {
	case $1 in
	generator) echo 'libc\.so|ld-linux.*\.so|libglib-2\.0\.so|libjson-glib-1\.0\.so|libgobject-2\.0\.so' ;;
	# The initramfs has these libraries and no others.
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

# A library that is loaded at run time has the name that the linker would have recorded.
while IFS= read -r soname; do
	library=$(${CC:-cc} -print-file-name="${soname%%.so*}.so")
	# libyaml-0.so.2 is linked as libyaml.
	[[ $library == /* ]] || library=$(${CC:-cc} -print-file-name="${soname%%-[0-9]*}.so")
	check "dlopen-$soname" "$(readelf -d "$library" 2>&1 | grep -qF "soname: [$soname]" || echo "$library is another one")"
done < <(sed -n 's/^#define SONAME "\(.*\)"$/\1/p' src/*/*.c src/*/*/*.c | sort -u)

# loads PROGRAM: the libraries that it can load later. The program is linked again with only the functions that it calls.
loads() {
	read -ra libraries < <(pkg-config --libs glib-2.0 gio-2.0 gio-unix-2.0 json-glib-1.0 libsystemd \
		"$(pkg-config --exists libbtrfsutil && echo libbtrfsutil || echo glib-2.0)")
	${CC:-cc} -pie -Wl,--gc-sections -o "$scratch/alone" "$BUILD/hooks/$1.o" "$BUILD/libgreenboot-etcd.a" "${libraries[@]}" &&
		strings "$scratch/alone" | grep -E '^lib[a-z0-9-]+\.so\.[0-9]+$' | sort -u | tr '\n' ' '
}
# The programs that decide about etcd's start load no libcurl, no libcrypto and no libarchive. health and green load
# libcurl, and libcrypto for certificates, to ask etcd.
while read -r program list; do
	loaded=$(loads "$program")
	for name in libcurl.so.4 libcrypto.so.3 libarchive.so.13; do
		[[ " $list " == *" $name "* || " $loaded " != *" $name "* ]] && ok "loads-$program-$name" ||
			not_ok "loads-$program-$name" "it can load $name"
	done
done <<'LIST'
prerun
finalize
red
used
generator
health libcurl.so.4 libcrypto.so.3
green libcurl.so.4 libcrypto.so.3
LIST
strings "$BUILD/hooks/initramfs" | grep -E '^lib(curl|crypto|archive)\.so' >"$scratch/alone" &&
	not_ok loads-initramfs "it can load $(tr '\n' ' ' <"$scratch/alone")" || ok loads-initramfs
[[ $(loads preflight) == *libcurl.so.4* ]] && ok loads-can-fail || not_ok loads-can-fail "preflight asks etcd by libcurl"

# A function of one file is static there, and an unused function is removed.
alone() {
	find "$BUILD/src" "$BUILD/hooks" -name '*.o' -exec nm -A {} + | awk '
		$(NF - 1) == "U" { used[$NF] = 1 }
		$(NF - 1) == "T" { defined[$NF] = $1 }
		END { for (name in defined) if (name ~ /^gbe_/ && !(name in used)) print name, defined[name] }' |
		while read -r name object; do
			grep -qrw --include='*.[ch]' "$name" tests || echo "$name: ${object%%:*}"
		done
}
# (Some functions of the base are used by one optional program alone.)
[ "$PROGRAMS" != "store certs cluster" ] || check functions-used "$(alone)"

# All programs together stay small, and so does the program of the initramfs.
size() {
	strip -o "$scratch/stripped" "$1" && stat -c %s "$scratch/stripped" || not_ok "strip-${1##*/}" "strip failed" >&2
}
if [ $found -gt 0 ] && [ -z "${SANITIZERS:-}" ]; then
	total=0 more=0
	for program in "$BUILD/greenboot-etcd" "$BUILD"/hooks/*; do
		[ -f "$program" ] && [ -x "$program" ] && [ ! -L "$program" ] && [ "${program##*/}" != initramfs ] || continue
		bytes=$(size "$program")
		[[ $program == */greenboot-etcd-* ]] && more=$((more + bytes)) || total=$((total + bytes))
	done
	[ $total -lt $((1024 * 1280)) ] && ok binaries-small ||
		not_ok binaries-small "the programs of the base are $total bytes stripped; 1280 KiB is the limit"
	[ $more -lt $((1024 * 392)) ] && ok optional-binaries-small ||
		not_ok optional-binaries-small "store, certs and cluster are $more bytes stripped; 392 KiB is the limit"
	total=$(size "$BUILD/hooks/initramfs")
	[ "$total" -lt $((624 * 1024)) ] && ok initramfs-small ||
		not_ok initramfs-small "it is $total bytes stripped; 624 KiB is the limit"
fi
finish
