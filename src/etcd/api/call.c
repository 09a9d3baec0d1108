/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/call.h"

#include "base/format.h"
#include "core/shown.h"

void
gbe_call_failure_clear(GbeCallFailure *failure)
{
	g_free(failure->why);
	*failure = (GbeCallFailure){0};
}

bool
gbe_call_fail(GbeCallFailure *failure, GbeReach reach, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	/* A part of the text may come from the server: make it one line of valid text. */
	gbe_call_failure_clear(failure);
	failure->reach = reach;
	failure->why = g_strchomp(gbe_shown_line(text));
	return false;
}

GbeErrorCode
gbe_call_code(const GbeCallFailure *failure, GbeErrorCode otherwise)
{
	return failure->reach == GBE_REACH_NO_USER ? GBE_ERROR_NO_USER : otherwise;
}

bool
gbe_call_is_denied(const GbeCallFailure *failure)
{
	return failure->reach == GBE_REACH_DENIED || failure->reach == GBE_REACH_NO_USER;
}
