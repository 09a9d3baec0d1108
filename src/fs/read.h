/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading a part of a file. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Fills @buffer, except at the end of the file: *ret_got says how far. @what: the file in a message. */
bool gbe_read_at(int fd, void *buffer, gsize size, guint64 offset, gsize *ret_got, const char *what,
		 GError **error) GBE_CHECKED;
