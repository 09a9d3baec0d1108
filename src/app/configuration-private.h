/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by src/app/configuration*.c: the files as they were found. What remembers them is apart, so that
 * who only reads does not load what writing takes. */
#pragma once

#include "app/configuration.h"

/* One file as it was found. Either ->text or ->error is set. */
typedef struct {
	char *path;
	char *text;
	gsize size;
	GError *error;
	GHashTable *skip; /* its faulty keys; a later file may have them right */
} GbeConfFile;

/* In the order in which they are merged; owned by the caller. */
GPtrArray *gbe_configuration_files(GbeApp *app);
/* True when the files as they lie there are what is used. */
bool gbe_configuration_choose_from(GbeApp *app, const char *deployment, GPtrArray *files,
				   char **ret_complaint);
