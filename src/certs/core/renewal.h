/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* When a certificate that this program has issued is replaced, and how long the new one is valid. Pure. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Times are seconds since the epoch. */
typedef struct {
	const char *
	    problem; /* the certificate or its key is missing or damaged, or they do not match; or NULL */
	const char *lacks;	  /* a name or address that it has to have and does not; or NULL */
	bool signed_by_authority; /* by the authority that signs now */
	gint64 not_before, not_after;
	gint64 authority_not_before;
} GbeLeafFacts;

/* Two thirds of its life. */
gint64 gbe_renewal_at(gint64 not_before, gint64 not_after);
/* False: the clock is slow, so certificates cannot be judged. */
bool gbe_renewal_clock_is_right(gint64 now, gint64 authority_not_before);
/* Why it is to be replaced at @now; newly allocated, NULL: it is not. */
char *gbe_renewal_reason(const GbeLeafFacts *leaf, gint64 now);

/* The times of a leaf certificate that is issued at @now for @validity seconds: never beyond its authority's.
 * GBE_ERROR_REFUSED: the authority has ended, or begins only later, so that the clock or the authority is wrong. */
bool gbe_renewal_times(gint64 now, guint64 validity, gint64 authority_not_before,
		       gint64 authority_not_after, gint64 *ret_not_before, gint64 *ret_not_after,
		       GError **error) GBE_CHECKED;
/* The same of a new authority. GBE_ERROR_REFUSED: the clock was never set. */
bool gbe_renewal_authority_times(gint64 now, guint64 validity, gint64 *ret_not_before,
				 gint64 *ret_not_after, GError **error) GBE_CHECKED;
