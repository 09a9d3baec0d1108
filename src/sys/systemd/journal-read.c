/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/journal-read.h"

#include <string.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define FIELD_MAX 4096
#define OWN_FIELDS "GREENBOOT_ETCD_"

static void
close_journal(sd_journal **journal)
{
	sd_journal_close(*journal);
}

static bool
failed(GError **error, int r)
{
	return gbe_throw_errno(error, -r, "the journal cannot be read");
}

static int
match(sd_journal *journal, const char *field, const char *value)
{
	g_autofree char *text = g_strconcat(field, "=", value, NULL);

	return sd_journal_add_match(journal, text, 0);
}

/* (identifier or identifier...) or (PID 1 and (unit or unit...)) */
static int
filter(sd_journal *journal, const char *const *identifiers, const char *const *units)
{
	int r = 0;

	for (; *identifiers != NULL && r >= 0; identifiers++)
		r = match(journal, "SYSLOG_IDENTIFIER", *identifiers);
	if (r >= 0)
		r = sd_journal_add_disjunction(journal);
	if (r >= 0)
		r = match(journal, "_PID", "1");
	for (; *units != NULL && r >= 0; units++)
		r = match(journal, "UNIT", *units);
	return r;
}

/* Newly allocated; NULL: this line has no such field. */
static char *
get(sd_journal *journal, const char *field)
{
	const void *data;
	size_t size, skip = strlen(field) + 1;

	if (sd_journal_get_data(journal, field, &data, &size) < 0 || size < skip)
		return NULL;
	return g_utf8_make_valid((const char *)data + skip, (gssize)MIN(size - skip, FIELD_MAX));
}

static void
set(JsonObject *line, const char *key, char *value)
{
	if (value == NULL)
		json_object_set_null_member(line, key);
	else
		json_object_set_string_member(line, key, value);
	g_free(value);
}

static JsonObject *
own_fields(sd_journal *journal)
{
	JsonObject *fields = json_object_new();
	const void *data;
	size_t size;

	SD_JOURNAL_FOREACH_DATA(journal, data, size)
	{
		const char *text = data;
		const char *sign = memchr(text, '=', size);

		if (sign == NULL || !g_str_has_prefix(text, OWN_FIELDS))
			continue;
		{
			gsize begin = (gsize)(sign - text);
			g_autofree char *key = g_strndup(text, begin);

			set(fields, key,
			    g_utf8_make_valid(sign + 1, (gssize)MIN(size - begin - 1, FIELD_MAX)));
		}
	}
	return fields;
}

static JsonObject *
read_line(sd_journal *journal)
{
	JsonObject *line = json_object_new();
	guint64 usec = 0;

	if (sd_journal_get_realtime_usec(journal, &usec) >= 0) {
		g_autoptr(GDateTime) time =
		    g_date_time_new_from_unix_utc((gint64)(usec / G_USEC_PER_SEC));
		g_autofree char *text = time != NULL ? g_date_time_format_iso8601(time) : NULL;

		set(line, "time", g_steal_pointer(&text));
	}
	set(line, "boot", get(journal, "_BOOT_ID"));
	set(line, "identifier", get(journal, "SYSLOG_IDENTIFIER"));
	set(line, "priority", get(journal, "PRIORITY"));
	set(line, "message", get(journal, "MESSAGE"));
	set(line, "message_id", get(journal, "MESSAGE_ID"));
	json_object_set_object_member(line, "fields", own_fields(journal));
	return line;
}

/* The last @max lines, in reverse order. */
static int
collect(sd_journal *journal, guint max, GPtrArray *newest_first)
{
	int r = sd_journal_seek_tail(journal);

	while (r >= 0 && newest_first->len < max) {
		r = sd_journal_previous(journal);
		if (r <= 0)
			break;
		g_ptr_array_add(newest_first, read_line(journal));
	}
	return r;
}

bool
gbe_journal_read(int root_fd, const char *const *identifiers, const char *const *units, guint max,
		 JsonArray *lines, GError **error)
{
	g_autoptr(GPtrArray) found =
	    g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
	__attribute__((cleanup(close_journal))) sd_journal *journal = NULL;
	int r;

	if (root_fd >= 0)
		r = sd_journal_open_directory_fd(&journal, root_fd, SD_JOURNAL_OS_ROOT);
	else
		r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);
	if (r < 0)
		return failed(error, r);
	(void)sd_journal_set_data_threshold(journal, FIELD_MAX + 64);
	r = filter(journal, identifiers, units);
	if (r >= 0)
		r = collect(journal, max, found);
	if (r < 0)
		return failed(error, r);
	for (guint i = found->len; i > 0; i--)
		json_array_add_object_element(lines, json_object_ref(found->pdata[i - 1]));
	return true;
}

/* unit's own or (PID 1 and about the unit) */
static int
filter_unit(sd_journal *journal, const char *unit)
{
	int r = match(journal, "_SYSTEMD_UNIT", unit);

	if (r >= 0)
		r = sd_journal_add_disjunction(journal);
	if (r >= 0)
		r = match(journal, "_PID", "1");
	if (r >= 0)
		r = match(journal, "UNIT", unit);
	return r;
}

static int
collect_text(sd_journal *journal, guint64 since, guint max, GPtrArray *newest_first)
{
	int r = sd_journal_seek_tail(journal);

	while (r >= 0 && newest_first->len < max) {
		guint64 usec = 0;
		char *message;

		r = sd_journal_previous(journal);
		if (r <= 0 || sd_journal_get_realtime_usec(journal, &usec) < 0 || usec < since)
			break;
		message = get(journal, "MESSAGE");
		if (message != NULL)
			g_ptr_array_add(newest_first, message);
	}
	return r;
}

bool
gbe_journal_tail(const char *unit, guint64 since, guint max, GPtrArray **ret_lines, GError **error)
{
	g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
	__attribute__((cleanup(close_journal))) sd_journal *journal = NULL;
	int r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);

	if (r < 0)
		return failed(error, r);
	(void)sd_journal_set_data_threshold(journal, FIELD_MAX + 64);
	r = filter_unit(journal, unit);
	if (r >= 0)
		r = collect_text(journal, since, max, found);
	if (r < 0)
		return failed(error, r);
	for (guint i = 0; i < found->len / 2; i++) {
		gpointer line = found->pdata[i];

		found->pdata[i] = found->pdata[found->len - 1 - i];
		found->pdata[found->len - 1 - i] = line;
	}
	*ret_lines = g_steal_pointer(&found);
	return true;
}
