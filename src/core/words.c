/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/words.h"

#include <glib.h>
#include <string.h>

static const char *const verdicts[] = {
    [GBE_VERDICT_NONE] = "none",
    [GBE_VERDICT_JUDGING] = "judging",
    [GBE_VERDICT_GREEN] = "green",
    [GBE_VERDICT_RED] = "red",
};
static const char *const healths[] = {
    [GBE_HEALTH_NOT_ASKED] = "not-asked",
    [GBE_HEALTH_HEALTHY] = "healthy",
    [GBE_HEALTH_UNHEALTHY] = "unhealthy",
    [GBE_HEALTH_CANNOT_TELL] = "cannot-tell",
};
static const char *const grades[] = {
    [GBE_GRADE_UNPROVEN] = "unproven",
    [GBE_GRADE_GOOD] = "good",
    [GBE_GRADE_BAD] = "bad",
};
static const char *const methods[] = {
    [GBE_METHOD_SNAPSHOT] = "snapshot",
    [GBE_METHOD_REFLINK] = "reflink",
    [GBE_METHOD_COPY] = "copy",
    [GBE_METHOD_RENAME] = "rename",
};

const GbeWords gbe_verdict_words = {verdicts, G_N_ELEMENTS(verdicts), GBE_VERDICT_NONE,
				    GBE_VERDICT_NONE};
/* An absent word means that etcd was not asked. A newer program's word is an answer that says nothing here. */
const GbeWords gbe_health_words = {healths, G_N_ELEMENTS(healths), GBE_HEALTH_NOT_ASKED,
				   GBE_HEALTH_CANNOT_TELL};
const GbeWords gbe_grade_words = {grades, G_N_ELEMENTS(grades), GBE_GRADE_UNPROVEN,
				  GBE_GRADE_UNPROVEN};
const GbeWords gbe_method_words = {methods, G_N_ELEMENTS(methods), GBE_METHOD_COPY,
				   GBE_METHOD_COPY};

guint
gbe_words_find(const GbeWords *words, const char *text)
{
	if (text == NULL)
		return words->absent;
	for (guint i = 0; i < words->count; i++)
		if (g_strcmp0(words->words[i], text) == 0)
			return i;
	return words->other;
}

const char *
gbe_words_get(const GbeWords *words, guint value)
{
	return words->words[value < words->count ? value : words->other];
}

const char *
gbe_verdict_to_string(GbeVerdict verdict)
{
	return gbe_words_get(&gbe_verdict_words, verdict);
}

GbeVerdict
gbe_verdict_from_string(const char *text)
{
	return gbe_words_find(&gbe_verdict_words, text);
}

const char *
gbe_verdict_to_public(GbeVerdict verdict)
{
	return gbe_verdict_to_string(verdict == GBE_VERDICT_JUDGING ? GBE_VERDICT_NONE : verdict);
}

const char *
gbe_health_to_string(GbeHealth health)
{
	return gbe_words_get(&gbe_health_words, health);
}

const char *
gbe_grade_to_string(GbeGrade grade)
{
	return gbe_words_get(&gbe_grade_words, grade);
}

const char *
gbe_method_to_string(GbeMethod method)
{
	return gbe_words_get(&gbe_method_words, method);
}

/* Longer words than those of this program are not compared. */
#define WORD_MAX 32

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
			table[i][j] = MIN(MIN(table[i - 1][j], table[i][j - 1]) + 1,
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
