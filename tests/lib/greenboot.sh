# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Both flavours of greenboot, after their sources. Played are the programs that write each GRUB variable, the hooks
# that run, and the way back to the old system. No registry has greenboot, so this is a stand-in. Sourced after
# boot.sh.

FLAVOUR=none # shell (0.15), rust (0.16.4) or none
MAX_BOOT_ATTEMPTS=3
AFTER=stay # result of the last verdict: stay or reboot

# ---- grubenv: the real block of 1024 bytes ----

grubenv_text() {
	local line
	while IFS= read -r line; do
		[[ $line == '#'* ]] || echo "$line"
	done <"$ROOT/boot/grub2/grubenv"
}
grubenv_get() {
	local line
	while IFS= read -r line; do
		[[ $line != "$1="* ]] || echo "${line#*=}"
	done <"$ROOT/boot/grub2/grubenv"
}

grubenv_store() {
	local text rest
	text="# GRUB Environment Block"$'\n'$(</dev/stdin)
	text=${text%$'\n'}$'\n'
	printf -v rest '%*s' $((1024 - ${#text})) ''
	printf '%s%s' "$text" "${rest// /#}" >"$ROOT/boot/grub2/grubenv"
}

# grubenv_edit KEY=VALUE|KEY...: sets KEY, or unsets it if no value is given.
grubenv_edit() {
	local change line text=
	while IFS= read -r line; do
		for change; do
			[[ $line != '#'* && $line != "${change%%=*}="* ]] || continue 2
		done
		text+=$line$'\n'
	done <"$ROOT/boot/grub2/grubenv"
	for change; do
		[[ $change != *=* ]] || text+=$change$'\n'
	done
	grubenv_store <<<"$text"
}

# Does what the snippet in grub.cfg does before an entry is chosen. Sets GRUB_INDEX.
grub_choose() {
	local counter

	GRUB_INDEX=0
	[[ -e $ROOT/boot/grub2/grubenv ]] || return 0
	counter=$(grubenv_get boot_counter)
	if [[ $counter && $(grubenv_get boot_success) != 1 ]]; then
		if ((counter <= 0)); then
			GRUB_INDEX=1
			grubenv_edit boot_counter=-1
		else
			grubenv_edit boot_counter=$((counter - 1))
		fi
	fi
	grubenv_edit boot_success=0
}

# ---- installation ----

# greenboot_install shell|rust|none
greenboot_install() {
	local units=$ROOT/usr/lib/systemd/system libexec=$ROOT/usr/libexec/greenboot

	FLAVOUR=$1
	rm -rf "$libexec" "$units"/greenboot-* "$units/redboot.target"
	mkdir -p "$ROOT/boot/grub2" "$ROOT/etc/systemd/system"
	[[ -e $ROOT/boot/grub2/grubenv ]] || grubenv_store <<<"boot_success=1"
	[[ $FLAVOUR != none ]] || { greenboot_disable && return; }
	mkdir -p "$ROOT/etc/greenboot"
	echo "GREENBOOT_MAX_BOOT_ATTEMPTS=$MAX_BOOT_ATTEMPTS" >"$ROOT/etc/greenboot/greenboot.conf"
	mkdir -p "$units" "$libexec" "$ROOT"/usr/lib/greenboot/{check/{required,wanted},green,red}.d
	printf '#!/bin/sh\nexit 0\n' >"$libexec/greenboot"
	chmod 0755 "$libexec/greenboot"
	if [[ $FLAVOUR == shell ]]; then
		cp -a "$libexec/greenboot" "$libexec/redboot-auto-reboot"
		printf '[Unit]\nConflicts=boot-complete.target\n' >"$units/redboot.target"
		printf '[Service]\nType=oneshot\nExecStart=%s\n' "$libexec/redboot-auto-reboot" \
			>"$units/redboot-auto-reboot.service"
		printf '[Service]\nType=oneshot\nExecStart=%s\n' "$libexec/greenboot-grub2-set-counter" \
			>"$units/greenboot-grub2-set-counter.service"
		printf '[Service]\nType=oneshot\nExecStart=%s check\n[Install]\n%s\n%s\n' \
			/usr/libexec/greenboot/greenboot RequiredBy=boot-complete.target \
			WantedBy=multi-user.target >"$units/greenboot-healthcheck.service"
	else
		printf '[Service]\nType=oneshot\nExecStart=%s health-check\n[Install]\n%s\n%s\n' \
			/usr/libexec/greenboot/greenboot RequiredBy=greenboot-success.target \
			WantedBy=multi-user.target >"$units/greenboot-healthcheck.service"
		printf '[Service]\nType=oneshot\nExecStop=%s set-rollback-trigger\n' \
			/usr/libexec/greenboot/greenboot \
			>"$units/greenboot-set-rollback-trigger.service"
	fi
	greenboot_enable
}

greenboot_links() {
	local required=boot-complete at=$ROOT/etc/systemd/system
	[[ $FLAVOUR != rust ]] || required=greenboot-success
	echo "$at/multi-user.target.wants/greenboot-healthcheck.service"
	echo "$at/$required.target.requires/greenboot-healthcheck.service"
	if [[ $FLAVOUR == rust ]]; then
		echo "$at/ostree-finalize-staged.service.requires/greenboot-set-rollback-trigger.service"
	else
		echo "$at/ostree-finalize-staged.service.requires/greenboot-grub2-set-counter.service"
		echo "$at/redboot.target.wants/redboot-auto-reboot.service"
	fi
}

greenboot_enable() {
	local link
	for link in $(greenboot_links); do
		mkdir -p "${link%/*}"
		ln -sf "/usr/lib/systemd/system/${link##*/}" "$link"
	done
}

greenboot_disable() { rm -rf "$ROOT"/etc/systemd/system/*.{target,service}.{wants,requires}/{greenboot,redboot}-*; }
greenboot_enabled() { [[ -L $ROOT/etc/systemd/system/multi-user.target.wants/greenboot-healthcheck.service ]]; }

# ---- what it does at each moment ----

# update NAME [COMMIT-NAME]: stages an update. The shell flavour sets the counter at this moment.
update() {
	stage "$@"
	if [[ $FLAVOUR == shell ]] && greenboot_enabled; then
		grubenv_edit boot_counter=$MAX_BOOT_ATTEMPTS boot_success=0
	fi
}

# In the Rust flavour, set-rollback-trigger.service stops just before ostree finalizes.
greenboot_at_shutdown() {
	local id

	[[ $FLAVOUR == rust ]] && greenboot_enabled && staged || return 0
	id=$(in_booted ostree admin status | sed -n "s/^ *$STATEROOT \([0-9a-f]*\)\..*(staged)\$/\1/p")
	grubenv_edit "greenboot_next_deployment_id=$id" fallback=1
}

# Runs after prerun and before any hook. If GRUB fell back, this makes the rollback permanent.
greenboot_check_fallback() {
	local next booted

	greenboot_enabled || return 0
	booted=${DEPLOYMENT[$BOOTED]#"$STATEROOT-"}
	if [[ $FLAVOUR == shell && $(grubenv_get boot_counter) == -1 ]]; then
		# The counter stays if ostree cannot write, like in the script of that name.
		if make_default "$BOOTED"; then
			grubenv_edit boot_counter
		fi
	elif [[ $FLAVOUR == rust ]]; then
		next=$(grubenv_get greenboot_next_deployment_id)
		grubenv_edit fallback
		if [[ $next && $next != "${booted%.*}" ]]; then
			make_default "$BOOTED"
			grubenv_edit greenboot_next_deployment_id
		fi
	fi
}

# judge green|red: plays the health check of one boot: greenboot-etcd's required check, and one of the system, which
# decides the colour. The hooks of that colour and the consequences follow.
judge() {
	local colour=$1

	AFTER=stay
	HEALTH=
	greenboot_enabled || return 0
	if has_program; then
		HEALTH=0
		hook health >&2 || HEALTH=$?
		[[ $HEALTH == 0 ]] || colour=red
	fi
	if has_program; then
		hook "$colour" >&2 || echo "the $colour hook failed with $?" >&2
	fi
	"greenboot_$colour"
}

greenboot_green() {
	grubenv_edit boot_success=1 boot_counter greenboot_next_deployment_id \
		greenboot_rollback_trigger
}

greenboot_red() {
	local counter

	counter=$(grubenv_get boot_counter)
	if [[ $FLAVOUR == shell ]]; then
		# redboot-auto-reboot does not reboot without a counter.
		[[ ! $counter || $counter == -1 ]] || AFTER=reboot
		return
	fi
	grubenv_edit boot_success=0
	AFTER=reboot
	if [[ ! $counter ]]; then
		grubenv_edit boot_counter=$MAX_BOOT_ATTEMPTS
	elif ((counter <= 0)); then
		if [[ $(grubenv_get greenboot_next_deployment_id) ]]; then
			make_default "$(deployment_name "$(sysroot_list | sed -n 2p)")"
			grubenv_edit boot_counter greenboot_next_deployment_id
		else
			AFTER=stay # gives up: a person must act
		fi
	fi
}

# fail_until_rollback [FUNCTION]: lets the booted deployment go red until greenboot boots another one. FUNCTION is
# what the workload does in each further boot.
fail_until_rollback() {
	local name=$BOOTED boots=1

	judge red
	while [[ $AFTER == reboot ]]; do
		reboot
		[[ $BOOTED == "$name" ]] || return 0
		boots=$((boots + 1))
		((boots <= 9)) || return 1
		[[ $# == 0 ]] || "$@"
		judge red
	done
}
