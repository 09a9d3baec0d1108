/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/core/renewal.h"

#include "core/space.h"

#define HOUR 3600
#define DAY (24 * HOUR)
/* The clock of a peer may be slow by this. */
#define LEAF_EARLIER HOUR
#define AUTHORITY_EARLIER DAY

gint64
gbe_renewal_at(gint64 not_before, gint64 not_after)
{
	return not_after - (not_after - not_before) / 3;
}

bool
gbe_renewal_clock_is_right(gint64 now, gint64 authority_not_before)
{
	return gbe_clock_is_set(now) && now >= authority_not_before;
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
	/* Do not renew by a slow clock: the new certificate would be as wrong as the clock. */
	if (!gbe_renewal_clock_is_right(now, leaf->authority_not_before))
		return NULL;
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
	g_autofree char *clock = gbe_clock_to_text(now);

	if (!gbe_clock_is_set(now))
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the clock says %s and cannot be right: set the clock first",
				 clock);
	if (now < authority_not_before) {
		g_autofree char *begin = gbe_clock_to_text(authority_not_before);

		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the clock says %s, and the authority is valid only from %s on: "
				 "set the clock first",
				 clock, begin);
	}
	if (now >= authority_not_after) {
		g_autofree char *end = gbe_clock_to_text(authority_not_after);

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
	if (!gbe_clock_is_set(now)) {
		g_autofree char *clock = gbe_clock_to_text(now);

		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the clock says %s: an authority of that time would be refused "
				 "by everyone whose clock is right; set the clock first",
				 clock);
	}
	*ret_not_before = now - AUTHORITY_EARLIER;
	*ret_not_after = now + (gint64)validity;
	return true;
}
