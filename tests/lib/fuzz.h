/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For libFuzzer's targets. */
#pragma once

#include <glib.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size);

/* Ends the process. (g_error() traps, and libFuzzer keeps no input that trapped.) */
#define fuzz_fail(...)                                                                             \
	do {                                                                                       \
		g_printerr(__VA_ARGS__);                                                           \
		g_printerr("\n");                                                                  \
		abort();                                                                           \
	} while (0)
