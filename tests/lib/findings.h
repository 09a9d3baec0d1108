/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One finding of a verification, by its code. */
#pragma once

#include "etcd/finding.h"

/* The first kept finding with @code; NULL: none. */
static inline const GbeFinding *
findings_find(const GbeFindings *findings, const char *code)
{
	for (guint i = 0; i < findings->items->len; i++) {
		const GbeFinding *item = g_ptr_array_index(findings->items, i);

		if (g_str_equal(item->code, code))
			return item;
	}
	return NULL;
}
