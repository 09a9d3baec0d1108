/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the samples: data directories of etcd 3.4, 3.5 and 3.6, good and bad, with the figures that etcd and etcdctl
 * reported for them. They are too large for the tree: they are in GBE_SAMPLES, or next to the tree in
 * ../shared/samples.
 */
#pragma once

#include "lib/unit.h"

#include <glib.h>
#include <stdbool.h>

/* "etcd/NAME", newly allocated. */
static inline char *
sample_path(const char *name)
{
	const char *given = g_getenv("GBE_SAMPLES");
	const char *data = g_getenv("GBE_TEST_DATA");
	g_autofree char *beside =
	    g_build_filename(data != NULL ? data : "tests/data", "../../../shared/samples", NULL);

	return g_build_filename(given != NULL ? given : beside, "etcd", name, NULL);
}

static inline bool
have_samples(const char *test)
{
	g_autofree char *path = sample_path("README.txt");

	if (g_file_test(path, G_FILE_TEST_EXISTS))
		return true;
	gbe_unit_skip(test, "no samples: GBE_SAMPLES says where they are");
	return false;
}
