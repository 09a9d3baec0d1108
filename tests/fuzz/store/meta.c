/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The name of an entry of a store that tools share, a newline, and what its _etcd_backup.meta says. */
#include "store/core/meta.h"
#include "core/snapshot/name.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

static void
look_at_name(const char *text)
{
	GbeSnapshotName name = {0}, again = {0};
	g_autofree char *printed = NULL;

	if (!gbe_snapshot_name_parse(text, &name))
		return;
	if (strpbrk(text, "/\033") != NULL)
		abort();
	name = gbe_snapshot_name_next(&name, 0);
	printed = gbe_snapshot_name_print(&name);
	if (!gbe_snapshot_name_parse(printed, &again) ||
	    gbe_snapshot_name_compare(&name, &again) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	const guint8 *newline = size > 0 ? memchr(bytes, '\n', size) : NULL;
	gsize of_name = newline != NULL ? (gsize)(newline - bytes) : 0;
	gsize from = newline != NULL ? of_name + 1 : 0;
	g_autofree char *name = g_strndup(size > 0 ? (const char *)bytes : "", of_name);
	g_auto(GbeSnapshotMeta) meta = {0}, again = {0};
	g_autofree char *text = NULL;

	look_at_name(name);
	if (!gbe_snapshot_meta_parse((const char *)bytes + from, size - from, &meta, NULL))
		return 0;
	text = gbe_snapshot_meta_print(&meta);
	if (!gbe_snapshot_meta_parse(text, strlen(text), &again, NULL) ||
	    !g_str_equal(again.etcd_version, meta.etcd_version) ||
	    again.timestamp != meta.timestamp || again.members != meta.members)
		abort();
	return 0;
}
