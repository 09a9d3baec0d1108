/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the ledger's file, line by line. */
#include "app/state/ledger.h"

#include "app/state/ledger-private.h"
#include "base/crc32c.h"
#include "core/json/parse.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
gbe_ledger_file_free(GbeLedgerFile *file)
{
	if (file == NULL)
		return;
	gbe_close_fd(&file->fd);
	gbe_ledger_free(file->ledger);
	g_free(file);
}

typedef struct {
	GbeApp *app;
	GbeLedgerFile *file;
	GString *line;
	guint64 number; /* of the line, from 1 */
	guint64 at;	/* offset of its first byte */
	bool too_long;
} Reader;

static bool
parse_line(const char *line, gsize len, JsonObject **ret_object, GError **error)
{
	char *end = NULL;
	guint64 crc;

	if (len <= GBE_LEDGER_CRC_LEN || line[GBE_LEDGER_CRC_LEN - 1] != ' ')
		return gbe_throw(error, GBE_ERROR_CORRUPT, "not a record");
	crc = g_ascii_strtoull(line, &end, 16);
	if (end != line + GBE_LEDGER_CRC_LEN - 1)
		return gbe_throw(error, GBE_ERROR_CORRUPT, "not a record");
	if (crc != gbe_crc32c(0, line + GBE_LEDGER_CRC_LEN, len - GBE_LEDGER_CRC_LEN))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "its checksum does not match");
	return gbe_json_parse_object(line + GBE_LEDGER_CRC_LEN, len - GBE_LEDGER_CRC_LEN,
				     "its JSON", ret_object, error);
}

static void
end_line(Reader *r)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) error = NULL;

	r->number++;
	if (!r->too_long && parse_line(r->line->str, r->line->len, &object, &error) &&
	    gbe_ledger_add(r->file->ledger, object, &error)) {
		g_string_truncate(r->line, 0);
		return;
	}
	gbe_ledger_add_hole(r->file->ledger, r->number, r->too_long ? "too long" : error->message);
	r->too_long = false;
	g_string_truncate(r->line, 0);
}

static void
feed(Reader *r, const char *bytes, gsize size)
{
	for (gsize i = 0; i < size;) {
		const char *newline = memchr(bytes + i, '\n', size - i);
		gsize len = newline != NULL ? (gsize)(newline - bytes) - i : size - i;

		if (r->line->len + len > GBE_LEDGER_LINE_MAX)
			r->too_long = true;
		else
			g_string_append_len(r->line, bytes + i, (gssize)len);
		i += len;
		r->at += len;
		if (newline == NULL)
			return;
		i++;
		r->at++;
		end_line(r);
		r->file->end = r->at;
	}
}

static bool
read_all(GbeApp *app, GbeLedgerFile *file, int fd, GError **error)
{
	g_autoptr(GString) line = g_string_new(NULL);
	g_autofree char *buffer = g_malloc(64 * 1024);
	Reader r = {.app = app, .file = file, .line = line};

	for (;;) {
		ssize_t got = read(fd, buffer, 64 * 1024);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return gbe_throw_errno(error, errno, "cannot read " GBE_LEDGER_PATH);
		if (got == 0)
			break;
		feed(&r, buffer, (gsize)got);
		(void)gbe_app_progress((guint64)got, app);
	}
	file->size = r.at;
	return true;
}

/* Reports the first hole, and how many more there are. */
static void
say_holes(const GbeLedger *ledger)
{
	const GbeLedgerRecord *first = NULL;
	g_autofree char *reason = NULL;
	gint64 lines = 0;

	for (guint i = 0; i < ledger->records->len; i++) {
		const GbeLedgerRecord *record = ledger->records->pdata[i];

		if (record->kind != GBE_LEDGER_HOLE)
			continue;
		first = first != NULL ? first : record;
		lines += gbe_json_int(record->object, "lines", 0);
	}
	if (first == NULL)
		return;
	reason = g_strdup_printf(
	    GBE_LEDGER_PATH ", line %" G_GINT64_FORMAT ": %s; what it said is not known",
	    gbe_json_int(first->object, "line", 0), gbe_json_string(first->object, "reason", "?"));
	if (lines > 1) {
		g_autofree char *one = g_steal_pointer(&reason);

		reason = g_strdup_printf("%s; %" G_GINT64_FORMAT " lines are such", one, lines);
	}
	gbe_event_state_broken(&(GbeEventFields){.reason = reason});
}

bool
gbe_ledger_open(GbeApp *app, int how, int *ret_fd, GError **error)
{
	gbe_autofd int fd =
	    openat(app->state_fd, GBE_LEDGER_NAME, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 && errno == ENOENT && (how & O_CREAT) == 0) {
		*ret_fd = -1;
		return true;
	}
	if (fd < 0 && (errno == EISDIR || errno == ELOOP || errno == ENXIO))
		return gbe_throw(error, GBE_ERROR_CORRUPT, GBE_LEDGER_PATH " is no regular file");
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open " GBE_LEDGER_PATH);
	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at " GBE_LEDGER_PATH);
	if (!S_ISREG(st.st_mode))
		return gbe_throw(error, GBE_ERROR_CORRUPT, GBE_LEDGER_PATH " is no regular file");
	*ret_fd = gbe_steal_fd(&fd);
	return true;
}

static bool
load(GbeApp *app, GbeLedgerFile **ret_file, GError **error)
{
	g_autoptr(GError) local = NULL;
	GbeLedgerFile *file;
	gbe_autofd int fd = -1;

	if (!gbe_app_open_state(app, false, &local)) {
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return false;
		}
	} else if (!gbe_ledger_open(app, O_RDONLY, &fd, error)) {
		return false;
	}
	file = g_new0(GbeLedgerFile, 1);
	file->fd = -1;
	file->ledger = gbe_ledger_new();
	if (fd >= 0 && !read_all(app, file, fd, error)) {
		gbe_ledger_file_free(file);
		return false;
	}
	*ret_file = file;
	return true;
}

bool
gbe_ledger_load(GbeApp *app, const GbeLedger **ret_ledger, GError **error)
{
	GbeLedgerFile *file = NULL;

	if (app->lock == NULL || app->ledger == NULL) {
		if (!load(app, &file, error))
			return false;
		gbe_ledger_file_free(app->ledger);
		app->ledger = file;
		app->ledger_free = gbe_ledger_file_free;
		if (app->lock != NULL)
			say_holes(file->ledger);
	}
	*ret_ledger = app->ledger->ledger;
	return true;
}
