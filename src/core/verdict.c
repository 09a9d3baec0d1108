/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/verdict.h"

static const char *const verdict_words[] = {
    [GBE_VERDICT_NONE] = "none",
    [GBE_VERDICT_JUDGING] = "judging",
    [GBE_VERDICT_GREEN] = "green",
    [GBE_VERDICT_RED] = "red",
};
static const char *const health_words[] = {
    [GBE_HEALTH_NOT_ASKED] = "not-asked",
    [GBE_HEALTH_HEALTHY] = "healthy",
    [GBE_HEALTH_UNHEALTHY] = "unhealthy",
    [GBE_HEALTH_CANNOT_TELL] = "cannot-tell",
};
static const char *const grade_words[] = {
    [GBE_GRADE_UNPROVEN] = "unproven",
    [GBE_GRADE_GOOD] = "good",
    [GBE_GRADE_BAD] = "bad",
};
static const char *const method_words[] = {
    [GBE_METHOD_SNAPSHOT] = "snapshot",
    [GBE_METHOD_REFLINK] = "reflink",
    [GBE_METHOD_COPY] = "copy",
    [GBE_METHOD_RENAME] = "rename",
};

static guint
word_find(const char *const *words, guint count, const char *text, guint fallback)
{
	for (guint i = 0; text != NULL && i < count; i++)
		if (g_str_equal(words[i], text))
			return i;
	return fallback;
}

const char *
gbe_verdict_to_string(GbeVerdict verdict)
{
	g_return_val_if_fail((guint)verdict < G_N_ELEMENTS(verdict_words), "none");
	return verdict_words[verdict];
}

GbeVerdict
gbe_verdict_from_string(const char *text)
{
	return word_find(verdict_words, G_N_ELEMENTS(verdict_words), text, GBE_VERDICT_NONE);
}

const char *
gbe_verdict_to_public(GbeVerdict verdict)
{
	return gbe_verdict_to_string(verdict == GBE_VERDICT_JUDGING ? GBE_VERDICT_NONE : verdict);
}

const char *
gbe_health_to_string(GbeHealth health)
{
	g_return_val_if_fail((guint)health < G_N_ELEMENTS(health_words), "cannot-tell");
	return health_words[health];
}

GbeHealth
gbe_health_from_string(const char *text)
{
	/* Absent is "nobody asked"; a word of a newer program is an answer that says nothing here. */
	if (text == NULL)
		return GBE_HEALTH_NOT_ASKED;
	return word_find(health_words, G_N_ELEMENTS(health_words), text, GBE_HEALTH_CANNOT_TELL);
}

const char *
gbe_grade_to_string(GbeGrade grade)
{
	g_return_val_if_fail((guint)grade < G_N_ELEMENTS(grade_words), "unproven");
	return grade_words[grade];
}

GbeGrade
gbe_grade_from_string(const char *text)
{
	return word_find(grade_words, G_N_ELEMENTS(grade_words), text, GBE_GRADE_UNPROVEN);
}

const char *
gbe_method_to_string(GbeMethod method)
{
	g_return_val_if_fail((guint)method < G_N_ELEMENTS(method_words), "copy");
	return method_words[method];
}

GbeMethod
gbe_method_from_string(const char *text)
{
	return word_find(method_words, G_N_ELEMENTS(method_words), text, GBE_METHOD_COPY);
}
