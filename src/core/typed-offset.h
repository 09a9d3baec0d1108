/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Offsets in tables that say which type a field has: a field of another size does not compile. */
#pragma once

#include <stddef.h>

#define GBE_TYPED_OFFSET(structure, member, type)                                                  \
	(offsetof(structure, member) +                                                             \
	 0 * sizeof(char[sizeof(((structure *)0)->member) == sizeof(type) ? 1 : -1]))
