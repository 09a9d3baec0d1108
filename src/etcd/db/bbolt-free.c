/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks free pages, for etcd/db/bbolt.h. etcd stores no free list; databases from before 3.3, and those that
 * bbolt's own tools wrote, have one. */
#include "etcd/db/bbolt.h"

#include "etcd/db/bbolt-page.h"

/* A count that does not fit in 16 bits is the first entry of the list. */
#define COUNT_IS_FIRST 0xFFFFU

/* *ret_good false: a finding was added. *ret_at, *ret_count: where the numbers of the free pages are in the file. */
static bool
read_header(GbeBbolt *db, GbePageSet *reached, guint64 *ret_at, guint64 *ret_count, bool *ret_good,
	    GError **error)
{
	guint64 end = MIN(db->meta.high_water, db->file_size / db->meta.page_size);
	guint64 id = db->meta.freelist;
	const guint8 *at = NULL;
	GbePageHeader header;
	guint64 count;
	guint64 begin;

	*ret_good = false;
	if (id < 2 || id >= end) {
		gbe_bbolt_damage(db, "bbolt-freelist", id, GBE_YES,
				 "the list of free pages should be here: the database ends before");
		return true;
	}
	begin = id * db->meta.page_size + GBE_PAGE_HEADER;
	if (!gbe_bbolt_fetch(db, id * db->meta.page_size, GBE_PAGE_HEADER + 8, &at, error))
		return false;
	header = gbe_page_header(at);
	count = header.count;
	if (count == COUNT_IS_FIRST) {
		count = gbe_load64(at + GBE_PAGE_HEADER);
		begin += 8;
	}
	if (header.id != id || header.flags != GBE_PAGE_FREELIST || header.overflow >= end - id ||
	    count > (((guint64)header.overflow + 1) * db->meta.page_size - GBE_PAGE_HEADER) / 8 ||
	    begin + 8 * count > (id + header.overflow + 1) * db->meta.page_size) {
		gbe_bbolt_damage(db, "bbolt-freelist", id, GBE_YES,
				 "this page should be the list of free pages and is none");
		return true;
	}
	for (guint64 i = 0; i <= header.overflow; i++) {
		if (gbe_page_set_add(reached, id + i) != GBE_PAGE_NEW) {
			gbe_bbolt_damage(db, "bbolt-page-twice", id + i, GBE_YES,
					 "part of the tree, and of the list of free pages");
			return true;
		}
	}
	*ret_at = begin;
	*ret_count = count;
	*ret_good = true;
	return true;
}

/* The numbers ascend, so that none is there twice. */
static bool
check_list(GbeBbolt *db, GbePageSet *reached, guint64 begin, guint64 count, bool *ret_good,
	   GError **error)
{
	guint64 before = 1;

	*ret_good = false;
	for (guint64 i = 0; i < count; i++) {
		const guint8 *at = NULL;
		guint64 page;

		if (!gbe_bbolt_fetch(db, begin + 8 * i, 8, &at, error))
			return false;
		page = gbe_load64(at);
		if (page <= before || page >= db->meta.high_water) {
			gbe_bbolt_damage(db, "bbolt-freelist", db->meta.freelist, GBE_UNKNOWN,
					 "entry %" G_GUINT64_FORMAT
					 " of the list of free pages is out of order",
					 i);
			return true;
		}
		if (gbe_page_set_has(reached, page)) {
			gbe_bbolt_damage(db, "bbolt-page-free", page, GBE_YES,
					 "a page in use is in the list of free pages: the next "
					 "write would destroy it");
			return true;
		}
		before = page;
	}
	*ret_good = true;
	return true;
}

bool
gbe_bbolt_check_free(GbeBbolt *db, GbePageSet *reached, guint64 *ret_free, GError **error)
{
	guint64 begin = 0;
	guint64 count = 0;
	guint64 left;
	bool good = false;

	if (db->meta.freelist == GBE_BBOLT_NO_FREELIST) {
		*ret_free = db->meta.high_water - MIN(db->meta.high_water, 2 + reached->count);
		return true;
	}
	if (!read_header(db, reached, &begin, &count, &good, error))
		return false;
	if (good && !check_list(db, reached, begin, count, &good, error))
		return false;
	left = db->meta.high_water - MIN(db->meta.high_water, 2 + reached->count);
	/* With damage elsewhere, pages that were not reached are no separate finding. */
	if (good && db->damages == 0 && left != count)
		gbe_findings_add(db->findings, GBE_FINDING_WARNING, "bbolt-page-lost", db->what,
				 GBE_PLACE_FILE, 0, GBE_NO, GBE_NO,
				 "%" G_GUINT64_FORMAT " pages are neither in use nor free",
				 left - count);
	*ret_free = count;
	return true;
}
