/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sentences about health. */
#include "core/health.h"

#include <string.h>

#include "core/space.h"

static const char *
or_else(const char *text, const char *otherwise)
{
	return text != NULL ? text : otherwise;
}

static void
append_tls(GString *to, const GbeTlsFile *tls)
{
	if (tls == NULL)
		return;
	g_string_append_printf(to, "%s of [etcd], %s, %s", tls->key, tls->path,
			       or_else(tls->problem, "has expired"));
}

static void
append_value(GString *to, const char *name, const GbeHealthFacts *f)
{
	if (g_str_has_prefix(name, "{unit}"))
		(void)g_string_append(to, or_else(f->unit, "the service"));
	else if (g_str_has_prefix(name, "{held}"))
		(void)g_string_append(to, or_else(f->held_why, "greenboot-etcd holds etcd back"));
	else if (g_str_has_prefix(name, "{data}"))
		(void)g_string_append(to, or_else(f->data_dir, "the data"));
	else if (g_str_has_prefix(name, "{tls}"))
		append_tls(to, gbe_health_bad_tls(f));
	else if (g_str_has_prefix(name, "{endpoint}"))
		(void)g_string_append(to, or_else(f->endpoint, "its endpoint"));
	else if (g_str_has_prefix(name, "{why}"))
		(void)g_string_append(to, or_else(f->status.why, "not asked"));
	else if (g_str_has_prefix(name, "{write}"))
		(void)g_string_append(to, or_else(f->write.why, "not asked"));
	else
		(void)g_string_append(to, or_else(f->read.why, "not asked"));
}

/* What it says, with every {name} replaced; in one pass, for a value is anybody's. */
char *
gbe_health_sentence(const char *text, const GbeHealthFacts *f)
{
	GString *to = g_string_new(NULL);

	while (*text != '\0') {
		gsize plain = strcspn(text, "{");

		(void)g_string_append_len(to, text, (gssize)plain);
		text += plain;
		if (*text == '{') {
			append_value(to, text, f);
			text += strcspn(text, "}") + 1;
		}
	}
	return g_string_free(to, FALSE);
}

char *
gbe_health_size_text(gint64 bytes)
{
	char *text = gbe_size_to_text((guint64)MAX(bytes, 0));
	char *dot = strchr(text, '.');

	if (dot != NULL && (dot[1] == '0' || dot - text > 1))
		memmove(dot, dot + 2, strlen(dot + 2) + 1);
	return text;
}

char *
gbe_health_summary(const GbeHealthFacts *f)
{
	GString *text = g_string_new("healthy");
	g_autofree char *size = gbe_health_size_text(f->db_size);
	g_autofree char *quota = gbe_health_size_text(f->quota);

	(void)g_string_append(text, f->learner			? ", learner"
				    : f->leader == f->member_id ? ", leader"
								: ", follower");
	if (f->member_count > 0)
		g_string_append_printf(text, ", %u member%s", f->member_count,
				       f->member_count == 1 ? "" : "s");
	if (f->version != NULL)
		g_string_append_printf(text, ", %s", f->version);
	g_string_append_printf(text, ", %s of %s, revision %" G_GINT64_FORMAT, size, quota,
			       f->revision);
	return g_string_free(text, FALSE);
}
