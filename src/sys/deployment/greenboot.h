/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells which greenboot is installed, whether it is enabled, and what its countdown says (greenboot.md). */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"

#include <glib.h>

typedef enum {
	GBE_GREENBOOT_NONE,  /* also where ->enabled is unknown */
	GBE_GREENBOOT_SHELL, /* 0.15: /usr/libexec/greenboot/redboot-auto-reboot or redboot.target */
	GBE_GREENBOOT_RUST,  /* 0.16 */
} GbeGreenbootFlavour;

typedef struct {
	GbeGreenbootFlavour flavour;
	/* greenboot-healthcheck.service is enabled and not masked, according to the unit files' links, so that the
	 * answer is also known below --root */
	GbeTri enabled;
	char *enabled_why; /* "not installed", "not enabled", "masked", "cannot be read", or NULL */
	GbeTri grubenv;	   /* grubenv could be read */
	bool has_counter;
	gint64 boot_counter;
	bool trigger;	       /* greenboot_rollback_trigger=1, or a next deployment id is set */
	char *next_deployment; /* greenboot_next_deployment_id, or NULL */
	/* Boots are counted, and a countdown ends with another system: grubenv exists, /boot is not on btrfs, and the
	 * flavour's units for it are enabled. */
	GbeTri can_count;
	/* Why boots are not counted, or NULL. Also set where can_count is YES and no grub.cfg seems to count. Only
	 * for people: no decision depends on it. */
	const char *count_why;
	GbeTri rollback_imminent; /* counter 0 and (shell, or trigger) */
	/* The countdown has ended: unless this boot becomes green, GRUB boots its second entry next, and sets the
	 * counter to -1. */
	bool ends_countdown;
	/* The boot after that: the shell version makes the booted deployment the default, and removes the counter. The
	 * Rust version leaves the counter. */
	bool becomes_default;
	GbeTri counts;	    /* the boots of this deployment are counted down */
	guint max_attempts; /* GREENBOOT_MAX_BOOT_ATTEMPTS, else 3 */
	/* of this deployment's trial, from 1, counted as the flavour does; 0 where there is no countdown */
	guint attempt;
} GbeGreenboot;

void gbe_greenboot_free(GbeGreenboot *greenboot);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeGreenboot, gbe_greenboot_free)
/* Never fails: what could not be read is unknown. */
GbeGreenboot *gbe_greenboot_load(int root_fd);
const char *gbe_greenboot_flavour_to_string(GbeGreenbootFlavour flavour); /* none shell rust */
/* Does greenboot's id of the next deployment name @deployment_id? Compares ostree checksums. A "sha256:" image
 * digest cannot be compared here: unknown. */
GbeTri gbe_greenboot_next_is(const GbeGreenboot *greenboot, const char *deployment_id);

/* Reads GRUB's environment block, and never writes it: "# GRUB Environment Block\n", key=value lines with backslash
 * escapes, '#' padding (greenboot.md section 3). */
/* Parses any bytes from memory. *ret_table: char * -> char *. GBE_ERROR_CORRUPT without the header. */
bool gbe_grubenv_parse(const char *bytes, gsize size, GHashTable **ret_table,
		       GError **error) GBE_CHECKED;
/* /boot/grub2/grubenv, else /boot/grub/grubenv. GBE_ERROR_NOT_FOUND: both are missing. */
bool gbe_grubenv_read(int root_fd, GHashTable **ret_table, GError **error) GBE_CHECKED;

/*
 * Does GRUB count boots down? Only where its configuration has greenboot's snippet (08_greenboot.cfg of bootupd,
 * 08_fallback_counting of grub2-tools). A grub.cfg that was made once, before greenboot was installed, does not get the
 * snippet automatically. An update that fails is then booted again and again (greenboot's issue 135).
 */
/* YES: a configuration below /boot has boot_counter. NO: there is a grub.cfg with a menu, and none has it. UNKNOWN:
 * no grub.cfg tells. The EFI system partition is not read: that may take a mount. */
GbeTri gbe_grub_counts(int root_fd);
