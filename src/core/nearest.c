/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/nearest.h"

#include <glib.h>
#include <string.h>

/* Longer words than those of this program are not compared. */
#define WORD_MAX 32

static guint
least(guint a, guint b, guint c)
{
	return MIN(MIN(a, b), c);
}

/* Letters to insert, remove, exchange, or swap with their neighbour. */
static guint
distance(const char *a, const char *b)
{
	guint table[WORD_MAX + 1][WORD_MAX + 1];
	gsize rows = strlen(a), columns = strlen(b);

	for (gsize i = 0; i <= rows; i++)
		for (gsize j = 0; j <= columns; j++) {
			if (i == 0 || j == 0) {
				table[i][j] = (guint)(i + j);
				continue;
			}
			table[i][j] = least(table[i - 1][j] + 1, table[i][j - 1] + 1,
					    table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				table[i][j] = MIN(table[i][j], table[i - 2][j - 2] + 1);
		}
	return table[rows][columns];
}

const char *
gbe_nearest_word(const char *word, const char *const *words)
{
	gsize len = strlen(word);
	guint best = len < 4 ? 2 : 3;
	const char *nearest = NULL;

	if (len < 2 || len > WORD_MAX)
		return NULL;
	for (gsize i = 0; words[i] != NULL; i++) {
		guint away;

		if (strlen(words[i]) > WORD_MAX)
			continue;
		away = g_str_has_prefix(words[i], word) ? 1 : distance(word, words[i]);
		if (away < best) {
			best = away;
			nearest = words[i];
		}
	}
	return nearest;
}
