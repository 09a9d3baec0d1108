/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/renewal.h"

#define HOUR 3600
#define DAY (24 * HOUR)
/* The clocks of those who check a certificate may be behind by this. */
#define LEAF_EARLIER HOUR
#define AUTHORITY_EARLIER DAY
/* 2024-01-01: older than every release of this program. A device without a battery starts in 1970. */
#define CLOCK_SET 1704067200

static char *
date(gint64 seconds)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(seconds);

	return time != NULL ? g_date_time_format(time, "%Y-%m-%d %H:%M UTC") : g_strdup("?");
}

gint64
gbe_renewal_at(gint64 not_before, gint64 not_after)
{
	return not_after - (not_after - not_before) / 3;
}

char *
gbe_renewal_reason(const GbeLeafFacts *leaf, gint64 now)
{
	if (leaf->problem != NULL)
		return g_strdup(leaf->problem);
	if (!leaf->signed_by_authority)
		return g_strdup("another authority has signed it");
	if (leaf->lacks != NULL)
		return g_strdup_printf("it is not for %s", leaf->lacks);
	if (now < leaf->not_before)
		return g_strdup("it is valid only later: the clock was ahead when it was made");
	if (now >= leaf->not_after)
		return g_strdup("it has expired");
	if (now >= gbe_renewal_at(leaf->not_before, leaf->not_after))
		return g_strdup("two thirds of its life are over");
	return NULL;
}

bool
gbe_renewal_times(gint64 now, guint64 validity, gint64 authority_not_before,
		  gint64 authority_not_after, gint64 *ret_not_before, gint64 *ret_not_after,
		  GError **error)
{
	g_autofree char *clock = date(now);

	if (now < authority_not_before) {
		g_autofree char *begin = date(authority_not_before);

		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the clock says %s, and the authority is valid only from %s on: "
				 "set the clock first",
				 clock, begin);
	}
	if (now >= authority_not_after) {
		g_autofree char *end = date(authority_not_after);

		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "the authority has expired on %s, and the clock says %s: "
		    "`greenboot-etcd certs rotate-ca` makes a new one, or set the clock",
		    end, clock);
	}
	*ret_not_before = MAX(now - LEAF_EARLIER, authority_not_before);
	*ret_not_after = (guint64)(authority_not_after - now) < validity ? authority_not_after
									 : now + (gint64)validity;
	return true;
}

bool
gbe_renewal_authority_times(gint64 now, guint64 validity, gint64 *ret_not_before,
			    gint64 *ret_not_after, GError **error)
{
	if (now < CLOCK_SET) {
		g_autofree char *clock = date(now);

		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the clock says %s: an authority of that time would be refused "
				 "by everyone whose clock is right; set the clock first",
				 clock);
	}
	*ret_not_before = now - AUTHORITY_EARLIER;
	*ret_not_after = now + (gint64)validity;
	return true;
}
