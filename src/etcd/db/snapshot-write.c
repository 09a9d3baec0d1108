/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/db/snapshot-write.h"

#include "base/sha256.h"
#include "etcd/db/bbolt-meta.h"
#include "etcd/db/snapshot-sum.h"
#include "etcd/window.h"

#define WINDOW ((gsize)1024 * 1024)

typedef struct {
	GbeSha256 sha256;
	GbeSnapshotPut put;
	gpointer data;
} Out;

static void
out_clear(Out *out)
{
	gbe_sha256_clear(&out->sha256);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Out, out_clear)

static bool
put(Out *out, const void *bytes, gsize size, GError **error)
{
	gbe_sha256_push(&out->sha256, bytes, size);
	return out->put(bytes, size, out->data, error);
}

static bool
put_metas(Out *out, const GbeBboltMeta *meta, GError **error)
{
	g_autofree guint8 *page = g_malloc0(meta->page_size);
	GbeBboltMeta older = *meta;

	older.transaction = meta->transaction > 0 ? meta->transaction - 1 : 0;
	gbe_bbolt_meta_write(meta, 0, page);
	if (!put(out, page, meta->page_size, error))
		return false;
	gbe_bbolt_meta_write(&older, 1, page);
	return put(out, page, meta->page_size, error);
}

static bool
put_pages(Out *out, GbeWindow *window, guint64 from, guint64 to, GError **error)
{
	for (guint64 at = from; at < to;) {
		const guint8 *bytes = NULL;
		gsize got = 0;

		if (!gbe_window_at(window, at, (gsize)MIN(WINDOW, to - at), &bytes, &got, error))
			return false;
		if (got == 0)
			return gbe_throw(error, GBE_ERROR_CORRUPT,
					 "%s ends at byte %" G_GUINT64_FORMAT
					 ", before its last page",
					 window->what, at);
		if (!put(out, bytes, got, error))
			return false;
		at += got;
	}
	return true;
}

bool
gbe_snapshot_write(int fd, const char *what, GbeSnapshotPut put_piece, gpointer data,
		   GError **error)
{
	g_auto(Out) out = {.put = put_piece, .data = data};
	guint8 sum[GBE_SNAPSHOT_SUM];
	GbeBboltMeta meta;
	GbeWindow window;
	bool ok;

	gbe_sha256_init(&out.sha256);
	if (!gbe_bbolt_read_newest(fd, what, &meta, error) || !put_metas(&out, &meta, error))
		return false;
	gbe_window_init(&window, fd, what, WINDOW, NULL);
	ok = put_pages(&out, &window, (guint64)meta.page_size * 2, meta.high_water * meta.page_size,
		       error);
	gbe_window_clear(&window);
	return ok && gbe_sha256_end(&out.sha256, sum, error) &&
	       put_piece(sum, sizeof(sum), data, error);
}
