/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds, orders and merges the configuration files (interface.md, section 3). A typo must not stop a program of the
 * boot. The program falls back to the last configuration that worked under this deployment (a sealed record of the
 * state). Else it reads the files without the faulty keys. Both are reported. If the files name no data, service or
 * endpoint, those of the installed system apply (core/config/systems.h). An empty file in a *.conf.d directory, or a
 * link to /dev/null, masks the files of its name before it.
 */
#pragma once

#include "app/device/context.h"

/* The record of the last configuration that worked: {"deployment", "files": [{"path", "text"}]}. */
#define GBE_CONFIGURATION_RECORD "configuration"

/* Sets app->config. When app->config_file is set, only that file is read. */
bool gbe_configuration_load(GbeApp *app, GError **error) GBE_CHECKED;
/* The same for a program that changes nothing: files with an error serve as gbe_configuration_choose() uses them, and
 * *ret_complaint (newly allocated; NULL: no error) says so. Fails only if app->config_file cannot be read. */
bool gbe_configuration_load_to_look(GbeApp *app, char **ret_complaint, GError **error) GBE_CHECKED;
/* Never fails; *ret_complaint is NULL, or says what is wrong and what is used instead. @deployment NULL: not
 * known; then no remembered configuration is used. Remembers a configuration that works. */
void gbe_configuration_load_for_boot(GbeApp *app, const char *deployment, char **ret_complaint);
/* Like gbe_configuration_load_for_boot(), but writes nothing. */
void gbe_configuration_choose(GbeApp *app, const char *deployment, char **ret_complaint);
/* The configuration that a deployment will have: the files of its own /usr, and those of today's /etc. */
bool gbe_configuration_of_tree(GbeApp *app, int tree_fd, GbeConfig **ret_config,
			       GError **error) GBE_CHECKED;
/* For a person who asks. Sets app->config from the valid lines of the files, and returns all errors (of char *), also
 * unknown groups and keys. Free with g_ptr_array_unref(). systemd-analyze decides whether a schedule is a calendar
 * event, but not below --root, where another systemd will read it. @names: also finds settings that name a missing unit
 * or another port than the service's. A missing path is a warning in ->config. Implemented in check.c. */
GPtrArray *gbe_configuration_check(GbeApp *app, bool names);

/* The rest is shared with state.c and check.c. The generator links configuration.c without them. */

/* The first part of gbe_configuration_check(): adds to @faults what is wrong in the files. */
void gbe_configuration_use_right(GbeApp *app, GPtrArray *faults);

/* One file as it was found. Either ->text or ->error is set. */
typedef struct {
	char *path;
	char *text;
	gsize size;
	GError *error;
	GHashTable *skip; /* the faulty keys; a later file may have them right */
} GbeConfFile;

/* In the order in which they are merged; owned by the caller. */
GPtrArray *gbe_configuration_files(GbeApp *app);
/* True when the files are used as they lie on the disk. */
bool gbe_configuration_choose_from(GbeApp *app, const char *deployment, GPtrArray *files,
				   char **ret_complaint);
