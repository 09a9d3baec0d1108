/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/offsite.h"

#include "core/record/fields.h"
#include "core/space.h"

/* A clock is corrected by less than that every day. */
#define AHEAD_MOST (24 * 60 * 60)

static const GbeField fields[] = {
    GBE_FIELD(GbeOffsite, newest, "newest", TEXT),
    GBE_FIELD(GbeOffsite, proved, "proved", TEXT),
    GBE_FIELD(GbeOffsite, proved_at, "proved_at", KNOWN),
    GBE_FIELD(GbeOffsite, proved_revision, "proved_revision", KNOWN),
    GBE_FIELD(GbeOffsite, damaged, "damaged", TEXT),
    GBE_FIELD(GbeOffsite, damaged_why, "damaged_why", TEXT),
    GBE_FIELD_OF(GbeOffsite, bound, "bound", TEXT, NULL, GBE_FIELD_LATER),
    GBE_FIELD(GbeOffsite, first_pushed_at, "first_pushed_at", KNOWN),
    GBE_FIELD(GbeOffsite, pushed, "pushed", TEXT),
    GBE_FIELD_OF(GbeOffsite, elsewhere, "elsewhere", FLAG, NULL, GBE_FIELD_LATER),
    GBE_FIELD(GbeOffsite, pushed_at, "pushed_at", KNOWN),
    GBE_FIELD(GbeOffsite, pushed_revision, "pushed_revision", KNOWN),
    GBE_FIELD(GbeOffsite, looked_at, "looked_at", KNOWN),
    GBE_FIELD(GbeOffsite, size, "size", KNOWN),
    GBE_FIELD(GbeOffsite, sent, "sent", KNOWN),
    GBE_FIELD(GbeOffsite, requests, "requests", KNOWN),
    GBE_FIELD(GbeOffsite, usec, "usec", KNOWN),
    GBE_FIELD(GbeOffsite, sha256, "sha256", TEXT),
    GBE_FIELD(GbeOffsite, stored_sha256, "stored_sha256", TEXT),
    GBE_FIELD(GbeOffsite, hash_kv, "hash_kv", KNOWN),
    GBE_FIELD(GbeOffsite, failed_at, "failed_at", KNOWN),
    GBE_FIELD(GbeOffsite, failed_why, "failed_why", TEXT),
    {0},
};

void
gbe_offsite_clear(GbeOffsite *offsite)
{
	gbe_fields_clear(fields, offsite);
}

void
gbe_offsite_read(JsonObject *object, GbeOffsite *ret_offsite)
{
	*ret_offsite = (GbeOffsite){0};
	gbe_fields_init(fields, ret_offsite);
	gbe_fields_read_known(fields, object, ret_offsite);
}

void
gbe_offsite_print(const GbeOffsite *offsite, JsonObject *object)
{
	gbe_fields_print(fields, object, offsite);
}

gint64
gbe_offsite_since(const GbeOffsite *offsite)
{
	return offsite->proved_at >= 0 ? offsite->proved_at : offsite->first_pushed_at;
}

bool
gbe_offsite_is_too_old(gint64 time, guint64 warn, gint64 now)
{
	if (warn == 0 || time < 0)
		return false;
	if (time > now)
		return gbe_clock_is_set(now) && time - now > AHEAD_MOST;
	return (guint64)(now - time) > warn;
}

bool
gbe_offsite_is_overdue(const GbeOffsite *offsite, guint64 warn, gint64 now)
{
	return gbe_offsite_is_too_old(gbe_offsite_since(offsite), warn, now);
}
