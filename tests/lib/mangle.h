/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mangles a file like a disk, a power cut or an enemy, for parsers that take any bytes. It makes each prefix, flips
 * each bit, replaces each byte by a meaningful one, and removes each byte. The copy ends where its memory does, so that
 * a sanitizer sees a read beyond it.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <string.h>

/* @complete: all bytes of the sample are there, though changed. */
typedef void (*GbeMangled)(const char *bytes, gsize size, bool complete);

static inline void
gbe_mangle_call(const char *bytes, gsize size, bool complete, GbeMangled each)
{
	g_autofree char *exact = g_memdup2(bytes, size);

	each(exact, size, complete);
}

static inline void
gbe_mangle(const char *sample, GbeMangled each)
{
	static const char tokens[] = "{}[]\",:\\-0 \n#=";
	gsize size = strlen(sample);
	g_autofree char *copy = g_strdup(sample);

	for (gsize i = 1; i < size; i++)
		gbe_mangle_call(sample, i, false, each);
	for (gsize i = 0; i < size; i++) {
		for (guint bit = 0; bit < 8; bit++) {
			copy[i] = (char)(sample[i] ^ (1 << bit));
			gbe_mangle_call(copy, size, true, each);
		}
		/* Includes the NUL at the end of the tokens. */
		for (gsize t = 0; t < sizeof(tokens); t++) {
			copy[i] = tokens[t];
			gbe_mangle_call(copy, size, true, each);
		}
		copy[i] = sample[i];
	}
	for (gsize i = 0; i < size; i++) {
		g_autofree char *shorter = g_strdup(sample);

		memmove(shorter + i, shorter + i + 1, size - i);
		gbe_mangle_call(shorter, size - 1, true, each);
	}
}
