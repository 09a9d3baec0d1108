/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which greenboot is here, is it enabled, and what does its countdown say (greenboot.md). */
#pragma once

#include "base/auto.h"
#include "core/tri.h"

#include <glib.h>

typedef enum {
	GBE_GREENBOOT_NONE,
	GBE_GREENBOOT_SHELL, /* 0.15: /usr/libexec/greenboot/redboot-auto-reboot or redboot.target */
	GBE_GREENBOOT_RUST,  /* 0.16 */
} GbeGreenbootFlavour;

typedef struct {
	GbeGreenbootFlavour flavour;
	GbeTri enabled;	   /* greenboot-healthcheck.service is pulled in: enabled, not masked; read
				  * from the unit files' links, so that it works below --root too */
	char *enabled_why; /* "not installed", "not enabled", "masked", or NULL */
	GbeTri grubenv;	   /* could be read */
	gboolean has_counter;
	gint64 boot_counter;
	GbeTri boot_success;
	gboolean trigger;      /* greenboot_rollback_trigger=1, or a next deployment id is set */
	char *next_deployment; /* greenboot_next_deployment_id, or NULL */
	GbeTri can_count;      /* grubenv can count boots: it is there and /boot is no btrfs */
	/* Why boots are not counted, or NULL; also where can_count is YES and no grub.cfg seems to do it: for
	 * people, nothing is decided by that. */
	const char *count_why;
	GbeTri rollback_imminent; /* counter 0 and (shell, or trigger) */
	guint max_attempts;	  /* GREENBOOT_MAX_BOOT_ATTEMPTS, 3 */
	guint attempt; /* of this deployment's trial, from 1, by flavour's way of counting; 0
				  * where there is no countdown */
} GbeGreenboot;

void gbe_greenboot_free(GbeGreenboot *greenboot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeGreenboot, gbe_greenboot_free)
/* Never fails; unknown is said as such. */
GbeGreenboot *gbe_greenboot_load(int root_fd);
const char *gbe_greenboot_flavour_to_string(GbeGreenbootFlavour flavour); /* none shell rust */
/* Does greenboot's word for the next deployment name @deployment_id? An ostree checksum does when it is
 * that one's; a "sha256:" image digest cannot be compared here: unknown. */
GbeTri gbe_greenboot_next_is(const GbeGreenboot *greenboot, const char *deployment_id);
