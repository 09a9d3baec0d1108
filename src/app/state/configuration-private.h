/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration files as they were found, shared by configuration.c and configuration-remember.c. Remembering
 * has its own object file: a program that only reads the configuration does not link what writing needs. */
#pragma once

#include "app/state/configuration.h"

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
/* True when the files are used as they lie on the disk. Implemented in configuration.c. */
bool gbe_configuration_choose_from(GbeApp *app, const char *deployment, GPtrArray *files,
				   char **ret_complaint);
