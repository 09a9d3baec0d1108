/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The samples of tests/data/etcd: data directories of etcd 3.4 to 3.7, good and bad. README.md there says what etcd said
 * of each.
 */
#pragma once

#include "unit/sys-root.h"

/* Unpacks @part of the sample @name, or all of it if @part is NULL. Returns the path below the root of this test. */
static inline char *
sample_part(const char *name, const char *part)
{
	const char *data = g_getenv("GBE_TEST_DATA");
	g_autofree char *file = g_strconcat(name, ".tar.xz", NULL);
	g_autofree char *archive =
	    g_build_filename(data != NULL ? data : "tests/data", "etcd", file, NULL);
	g_autofree char *member = g_build_filename(name, part, NULL);

	if (RUN("tar", "-C", root, "--no-same-owner", "-xJf", archive, member) != 0)
		ck_abort_msg("cannot unpack %s", archive);
	return root_path(member);
}

static inline char *
sample(const char *name)
{
	return sample_part(name, NULL);
}
