/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For the targets of libFuzzer. */
#pragma once

#include <glib.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

/* What must not be. (g_error() traps, and libFuzzer keeps no input that did.) */
#define fuzz_fail(...)                                                                             \
	do {                                                                                       \
		g_printerr(__VA_ARGS__);                                                           \
		g_printerr("\n");                                                                  \
		abort();                                                                           \
	} while (0)
