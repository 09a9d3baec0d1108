/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Is this text JSON (RFC 8259), and JSON that we take? Looked at before json-glib does: that one
 * recurses as deep as its input says, takes comments and bare words, lets the last of two equal keys
 * win, cuts strings at "\u0000" and wraps integers that are too large. None of that passes here:
 *
 *   GBE_JSON_MAX_SIZE bytes, GBE_JSON_MAX_DEPTH levels, one object at the top, valid UTF-8, no NUL, no
 *   duplicate key in an object, no half surrogate, integers within 2^53 either way, finite numbers.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

#include <glib.h>

/* Any bytes. GBE_ERROR_CORRUPT "line N: ...". */
bool gbe_json_text_check(const char *bytes, gsize size, GError **error) GBE_CHECKED;
