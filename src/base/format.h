/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text from a format and what belongs to it, and from a number that is an id.
 */
#pragma once

#include <glib.h>
#include <stdarg.h>

/* A new string, of @format and the arguments after it. @format is the function's last named parameter. */
#define GBE_VFORMAT(format)                                                                        \
	({                                                                                         \
		va_list args_;                                                                     \
		char *text_;                                                                       \
                                                                                                   \
		va_start(args_, format);                                                           \
		text_ = g_strdup_vprintf((format), args_);                                         \
		va_end(args_);                                                                     \
		text_;                                                                             \
	})

/* 16 hex digits, as etcd's tools print the id of a cluster, a member and a lease. A new string. */
static inline char *
gbe_hex64(guint64 id)
{
	return g_strdup_printf("%016" G_GINT64_MODIFIER "x", id);
}
