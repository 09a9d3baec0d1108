# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# A real GRUB, which counts boots. QEMU starts it like a kernel (lnxboot.img). It finds /boot by its label and reads
# and writes the grubenv there. Its menu comes from ostree's loader/entries. Sourced after greenboot.sh, whose
# grub_choose() plays the same rule without GRUB.

GRUB_MODULES=(biosdisk ext2 search_label normal configfile loadenv test echo serial terminal linux reboot)

# grub_image FILE: makes the image of GRUB, once a suite.
grub_image() {
	cat >"$GBE_MEM/grub.cfg" <<-'EOF'
		search.fs_label boot root
		set prefix=($root)/grub2
		configfile ($root)/grub2/grub.cfg
	EOF
	grub-mkimage -O i386-pc -p /grub2 -c "$GBE_MEM/grub.cfg" -o "$GBE_MEM/grub.core" "${GRUB_MODULES[@]}"
	cat /usr/lib/grub/i386-pc/lnxboot.img "$GBE_MEM/grub.core" >"$1"
}

# grub_menu [WORD...]: writes grub.cfg for the next boot to the mounted /boot. WORD is what a person adds to the
# entry's command line. Fedora's GRUB has blscfg and decrement for this; Debian's lacks both. The rule is greenboot's
# (reference/greenboot.md 3.1).
grub_menu() {
	local entry n

	{
		cat <<-'EOF'
			serial --unit=0 --speed=115200
			terminal_output serial
			load_env --file ($root)/grub2/grubenv
			set default=0
			set timeout=0
			echo "GRUB: boot_counter=${boot_counter} boot_success=${boot_success}"
			if [ -n "${boot_counter}" -a "${boot_success}" = "0" ]; then
				if [ "${boot_counter}" = "0" -o "${boot_counter}" = "-1" ]; then
					set default=1
					set boot_counter=-1
		EOF
		for n in {1..9}; do
			echo "elif [ \${boot_counter} = $n ]; then set boot_counter=$((n - 1))"
		done
		cat <<-'EOF'
				fi
				save_env --file ($root)/grub2/grubenv boot_counter
			fi
			set boot_success=0
			save_env --file ($root)/grub2/grubenv boot_success
		EOF
		while read -r entry; do
			grub_entry "$entry" "$*"
		done < <(find "$ROOT/boot/loader/entries" -name '*.conf' | sort -rV)
	} >"$ROOT/boot/grub2/grub.cfg"
	sync -f "$ROOT/boot"
}

grub_entry() { # FILE WORDS
	local title
	title=$(sed -n 's/^title \(.*\) (.*/\1/p' "$1")
	printf 'menuentry "%s" {\n\techo "GRUB: booting %s"\n' "$title" "$title"
	sed -n -e "s|^linux \(.*\)|\tlinux \1|p" -e "s|^initrd \(.*\)|\tinitrd \1|p" \
		-e "s|^options .*|&|p" "$1" | awk -v words="$2" '
		/^\tlinux/ { linux = $0 }
		/^\tinitrd/ { initrd = $0 }
		/^options/ { sub(/^options/, ""); options = $0 }
		END { print linux options " " words; print initrd }'
	echo "}"
}
