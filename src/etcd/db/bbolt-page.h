/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages and elements of bbolt as on disk, little-endian, for the readers in bbolt*.c. */
#pragma once

#include <glib.h>
#include <string.h>

#define GBE_PAGE_BRANCH 0x01U
#define GBE_PAGE_LEAF 0x02U
#define GBE_PAGE_FREELIST 0x10U
#define GBE_PAGE_HEADER 16U
#define GBE_PAGE_ELEMENT 16U
#define GBE_LEAF_BUCKET 0x01U
#define GBE_BUCKET_HEADER 16U

typedef struct {
	guint64 id;
	guint16 flags;
	guint16 count;
	guint32 overflow; /* pages that follow and belong to this one */
} GbePageHeader;

static inline guint32
gbe_load32(const guint8 *at)
{
	guint32 value;

	memcpy(&value, at, sizeof(value));
	return GUINT32_FROM_LE(value);
}

static inline guint64
gbe_load64(const guint8 *at)
{
	guint64 value;

	memcpy(&value, at, sizeof(value));
	return GUINT64_FROM_LE(value);
}

static inline GbePageHeader
gbe_page_header(const guint8 *at)
{
	guint32 kind = gbe_load32(at + 8);

	return (GbePageHeader){
	    .id = gbe_load64(at),
	    .flags = (guint16)(kind & 0xffff),
	    .count = (guint16)(kind >> 16),
	    .overflow = gbe_load32(at + 12),
	};
}
