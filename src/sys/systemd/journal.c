/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/journal.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define FIELD_MAX 4096
#define OWN_FIELDS "GREENBOOT_ETCD_"

bool
gbe_journal_send(const struct iovec *fields, guint count)
{
	return access(JOURNAL_SOCKET, W_OK) == 0 && sd_journal_sendv(fields, (int)count) >= 0;
}

void
gbe_journal_sync(guint seconds)
{
	static const struct sockaddr_un journal = {.sun_family = AF_UNIX,
						   .sun_path =
						       "/run/systemd/journal/io.systemd.journal"};
	/* With its NUL, which ends a message of Varlink. */
	static const char call[] = "{\"method\":\"io.systemd.Journal.Synchronize\"}";
	const struct timeval timeout = {.tv_sec = seconds};
	gbe_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[256];

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&journal, sizeof journal) == 0 &&
	    send(fd, call, sizeof call, MSG_NOSIGNAL) == sizeof call)
		(void)!recv(fd, answer, sizeof answer, 0);
}

static void
close_journal(sd_journal **journal)
{
	sd_journal_close(*journal);
}

static bool
throw_journal(GError **error, int r)
{
	return gbe_throw_errno(error, -r, "the journal cannot be read");
}

static int
add_match(sd_journal *journal, const char *field, const char *value)
{
	g_autofree char *text = g_strconcat(field, "=", value, NULL);

	return sd_journal_add_match(journal, text, 0);
}

/* Looks from the end at lines in which @field has one of @values, and at PID 1's lines about one of @units. Both are
 * NULL-terminated. */
static int
find_lines(sd_journal *journal, const char *field, const char *const *values,
	   const char *const *units)
{
	int r = 0;

	(void)sd_journal_set_data_threshold(journal, FIELD_MAX + 64);
	for (; *values != NULL && r >= 0; values++)
		r = add_match(journal, field, *values);
	if (r >= 0)
		r = sd_journal_add_disjunction(journal);
	if (r >= 0)
		r = add_match(journal, "_PID", "1");
	for (; *units != NULL && r >= 0; units++)
		r = add_match(journal, "UNIT", *units);
	return r >= 0 ? sd_journal_seek_tail(journal) : r;
}

/* Newly allocated; NULL: this line has no such field. */
static char *
get_field(sd_journal *journal, const char *field)
{
	const void *data;
	size_t size, skip = strlen(field) + 1;

	if (sd_journal_get_data(journal, field, &data, &size) < 0 || size < skip)
		return NULL;
	return g_utf8_make_valid((const char *)data + skip, (gssize)MIN(size - skip, FIELD_MAX));
}

/* Takes @value. */
static void
set_member(JsonObject *line, const char *key, char *value)
{
	if (value == NULL)
		json_object_set_null_member(line, key);
	else
		json_object_set_string_member(line, key, value);
	g_free(value);
}

static JsonObject *
read_line(sd_journal *journal)
{
	JsonObject *line = json_object_new(), *fields = json_object_new();
	guint64 usec = 0;
	const void *data;
	size_t size;

	if (sd_journal_get_realtime_usec(journal, &usec) >= 0) {
		g_autoptr(GDateTime) time =
		    g_date_time_new_from_unix_utc((gint64)(usec / G_USEC_PER_SEC));

		set_member(line, "time", time != NULL ? g_date_time_format_iso8601(time) : NULL);
	}
	set_member(line, "boot", get_field(journal, "_BOOT_ID"));
	set_member(line, "identifier", get_field(journal, "SYSLOG_IDENTIFIER"));
	set_member(line, "priority", get_field(journal, "PRIORITY"));
	set_member(line, "message", get_field(journal, "MESSAGE"));
	set_member(line, "message_id", get_field(journal, "MESSAGE_ID"));
	SD_JOURNAL_FOREACH_DATA(journal, data, size)
	{
		const char *text = data;
		const char *sign = memchr(text, '=', size);

		if (sign != NULL && g_str_has_prefix(text, OWN_FIELDS)) {
			gsize begin = (gsize)(sign - text);
			g_autofree char *key = g_strndup(text, begin);

			set_member(
			    fields, key,
			    g_utf8_make_valid(sign + 1, (gssize)MIN(size - begin - 1, FIELD_MAX)));
		}
	}
	json_object_set_object_member(line, "fields", fields);
	return line;
}

bool
gbe_journal_read(int root_fd, const char *const *identifiers, const char *const *units, guint max,
		 JsonArray *lines, GError **error)
{
	g_autoptr(GPtrArray) newest_first =
	    g_ptr_array_new_with_free_func((GDestroyNotify)json_object_unref);
	__attribute__((cleanup(close_journal))) sd_journal *journal = NULL;
	int r;

	if (root_fd >= 0)
		r = sd_journal_open_directory_fd(&journal, root_fd, SD_JOURNAL_OS_ROOT);
	else
		r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);
	if (r < 0)
		return throw_journal(error, r);
	r = find_lines(journal, "SYSLOG_IDENTIFIER", identifiers, units);
	while (r >= 0 && newest_first->len < max) {
		r = sd_journal_previous(journal);
		if (r <= 0)
			break;
		g_ptr_array_add(newest_first, read_line(journal));
	}
	if (r < 0)
		return throw_journal(error, r);
	for (guint i = newest_first->len; i > 0; i--)
		json_array_add_object_element(lines, json_object_ref(newest_first->pdata[i - 1]));
	return true;
}

bool
gbe_journal_tail(const char *unit, guint64 since, guint max, GPtrArray **ret_lines, GError **error)
{
	const char *const units[] = {unit, NULL};
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	__attribute__((cleanup(close_journal))) sd_journal *journal = NULL;
	int r = sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY);

	if (r < 0)
		return throw_journal(error, r);
	r = find_lines(journal, "_SYSTEMD_UNIT", units, units);
	while (r >= 0 && lines->len < max) {
		guint64 usec = 0;
		char *message;

		r = sd_journal_previous(journal);
		if (r <= 0 || sd_journal_get_realtime_usec(journal, &usec) < 0 || usec < since)
			break;
		message = get_field(journal, "MESSAGE");
		if (message != NULL)
			g_ptr_array_insert(lines, 0, message);
	}
	if (r < 0)
		return throw_journal(error, r);
	*ret_lines = g_steal_pointer(&lines);
	return true;
}
