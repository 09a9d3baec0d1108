/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/ledger.h"

#include "base/crc32c.h"
#include "base/fault.h"
#include "base/format.h"
#include "core/decide/past.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "fs/reserve.h"
#include "fs/sync.h"
#include "sys/systemd/events.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* The digits of the CRC and the blank. */
#define CRC_LEN 9
/* A record has some hundred bytes, an intent some thousand. Longer lines are not read or written. */
#define LINE_MAX_BYTES (CRC_LEN + GBE_JSON_MAX_SIZE)
/* A ledger with fewer records is never rewritten. */
#define COMPACT_FROM 512

struct GbeLedgerFile {
	GbeLedger *ledger;
	int fd;	     /* for appending; -1 */
	guint64 end; /* offset after the last whole line */
	guint64 size;
};

/* ---- reads ---- */

static void
ledger_file_free(GbeLedgerFile *file)
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

/* Adds the line, or a hole. */
static void
end_line(Reader *r)
{
	const char *line = r->line->str;
	gsize len = r->line->len;
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GError) error = NULL;
	const char *why = NULL;
	char *end = NULL;

	r->number++;
	if (r->too_long)
		why = "too long";
	else if (len <= CRC_LEN || line[CRC_LEN - 1] != ' ')
		why = "not a record";
	else {
		guint64 crc = g_ascii_strtoull(line, &end, 16);

		if (end != line + CRC_LEN - 1)
			why = "not a record";
		else if (crc != gbe_crc32c(0, line + CRC_LEN, len - CRC_LEN))
			why = "its checksum does not match";
		else if (!gbe_json_parse_object(line + CRC_LEN, len - CRC_LEN, "its JSON", &object,
						&error) ||
			 !gbe_ledger_add(r->file->ledger, object, &error))
			why = error->message;
	}
	if (why != NULL)
		gbe_ledger_add_hole(r->file->ledger, r->number, why);
	r->too_long = false;
	g_string_truncate(r->line, 0);
}

static void
feed(Reader *r, const char *bytes, gsize size)
{
	for (gsize i = 0; i < size;) {
		const char *newline = memchr(bytes + i, '\n', size - i);
		gsize len = newline != NULL ? (gsize)(newline - bytes) - i : size - i;

		if (r->line->len + len > LINE_MAX_BYTES)
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

/* @how: O_RDONLY, or O_RDWR | O_CREAT. *ret_fd is -1, without an error, where there is no ledger. */
static bool
open_ledger_file(GbeApp *app, int how, int *ret_fd, GError **error)
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

bool
gbe_ledger_load(GbeApp *app, const GbeLedger **ret_ledger, GError **error)
{
	g_autoptr(GError) local = NULL;
	GbeLedgerFile *file;
	gbe_autofd int fd = -1;

	if (app->lock != NULL && app->ledger != NULL) {
		*ret_ledger = app->ledger->ledger;
		return true;
	}
	if (!gbe_app_open_state(app, false, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_NOT_FOUND))
			return false;
	} else if (!open_ledger_file(app, O_RDONLY, &fd, error)) {
		return false;
	}
	file = g_new0(GbeLedgerFile, 1);
	file->fd = -1;
	file->ledger = gbe_ledger_new();
	if (fd >= 0 && !read_all(app, file, fd, error)) {
		ledger_file_free(file);
		return false;
	}
	ledger_file_free(app->ledger);
	app->ledger = file;
	app->ledger_free = ledger_file_free;
	if (app->lock != NULL)
		say_holes(file->ledger);
	*ret_ledger = file->ledger;
	return true;
}

/* ---- appends ---- */

char *
gbe_ledger_nonce(void)
{
	guint64 bytes = 0;

	while (getrandom(&bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		;
	return gbe_hex64(bytes);
}

static char *
print_line(JsonObject *object)
{
	g_autofree char *json = gbe_json_print_line(object);

	return g_strdup_printf("%08x %s", gbe_crc32c(0, json, strlen(json) - 1), json);
}

static bool
try_append(GbeLedgerFile *file, const char *line, GbeWrite how, GError **error)
{
	gsize size = strlen(line), done = 0;

	file->size = file->end + size;
	while (done < size) {
		ssize_t wrote =
		    pwrite(file->fd, line + done, size - done, (off_t)(file->end + done));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return gbe_throw_errno(error, errno, "cannot append to " GBE_LEDGER_PATH);
		done += (gsize)wrote;
	}
	return !GBE_FAULT("ledger-written", error) &&
	       (how != GBE_WRITE_DURABLE || gbe_sync_file(file->fd, GBE_LEDGER_PATH, error));
}

static bool
append_line(GbeApp *app, JsonObject *object, GbeWrite how, GError **error)
{
	GbeLedgerFile *file = app->ledger;
	g_autofree char *line = print_line(object);
	g_autoptr(JsonObject) again = NULL;
	g_autoptr(GError) local = NULL;
	bool ok;

	if (!gbe_json_parse_object(line + CRC_LEN, strlen(line) - CRC_LEN, "it", &again, &local))
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "a record in " GBE_LEDGER_PATH " could not be read again: %s",
				 local->message);
	ok = try_append(file, line, how, &local);
	if (!ok && g_error_matches(local, GBE_ERROR, GBE_ERROR_NO_SPACE)) {
		gbe_reserve_give_up_at(app->state_fd, GBE_RESERVE_NAME);
		g_clear_error(&local);
		ok = try_append(file, line, how, &local);
	}
	if (!ok) {
		/* On failure, the next append cuts it off. */
		if (ftruncate(file->fd, (off_t)file->end) < 0)
			g_debug("the torn end of " GBE_LEDGER_PATH " stays for now");
		return gbe_pass(error, &local);
	}
	file->end = file->size;
	return gbe_ledger_add(file->ledger, object, error) && !GBE_FAULT("ledger-appended", error);
}

static void
fill_in(GbeApp *app, GbeLedgerKind kind, JsonObject *object)
{
	if (!json_object_has_member(object, "sequence"))
		json_object_set_int_member(object, "sequence",
					   (gint64)app->ledger->ledger->last + 1);
	json_object_set_string_member(object, "kind", gbe_ledger_kind_to_string(kind));
	json_object_set_int_member(object, "time", g_get_real_time() / G_USEC_PER_SEC);
}

/* Prepares the file for an append: read to its end, a whole last line, and a head. */
static bool
prepare_append(GbeApp *app, GError **error)
{
	g_autoptr(JsonObject) head = NULL;
	g_autofree char *id = NULL;
	g_autoptr(GError) local = NULL;
	const GbeLedger *ledger;
	GbeLedgerFile *file;

	if (!gbe_app_open_state(app, true, error))
		return false;
	if (!gbe_ledger_load(app, &ledger, &local)) {
		if (!gbe_pass_unless(error, &local, GBE_ERROR_CORRUPT))
			return false;
		gbe_event_state_broken(&(GbeEventFields){.reason = local->message});
		if (!gbe_set_broken_aside_at(app->state_fd, GBE_LEDGER_NAME, NULL, error) ||
		    !gbe_ledger_load(app, &ledger, error))
			return false;
	}
	file = app->ledger;
	if (file->fd < 0 && !open_ledger_file(app, O_RDWR | O_CREAT, &file->fd, error))
		return false;
	/* Cuts off what follows the last whole line. */
	if (file->size > file->end) {
		if (ftruncate(file->fd, (off_t)file->end) < 0)
			return gbe_throw_errno(error, errno,
					       "cannot cut the torn end off " GBE_LEDGER_PATH);
		file->size = file->end;
		if (!gbe_sync_file(file->fd, GBE_LEDGER_PATH, error))
			return false;
	}
	if (ledger->id != NULL)
		return true;
	head = json_object_new();
	id = gbe_ledger_nonce();
	json_object_set_string_member(head, "id", id);
	json_object_set_int_member(head, "format", GBE_FORMAT);
	json_object_set_string_member(head, "written_by", GBE_VERSION);
	fill_in(app, GBE_LEDGER_HEAD, head);
	/* The directory is synced first: later appends sync only the content of the file. */
	return gbe_sync_dir(app->state_fd, GBE_STATE_DIR, error) &&
	       append_line(app, head, GBE_WRITE_DURABLE, error);
}

bool
gbe_ledger_append(GbeApp *app, GbeLedgerKind kind, JsonObject *object, GbeWrite how, GError **error)
{
	g_autoptr(JsonObject) record = object;

	if (app->lock == NULL)
		return gbe_throw(error, GBE_ERROR_BUSY, "no lock, no record in " GBE_LEDGER_PATH);
	if (!prepare_append(app, error))
		return false;
	fill_in(app, kind, record);
	return append_line(app, record, how, error);
}

void
gbe_ledger_reserve(GbeApp *app, guint64 upto)
{
	if (app->ledger != NULL && upto <= GBE_LEDGER_SEQUENCE_MAX)
		app->ledger->ledger->last = MAX(app->ledger->ledger->last, upto);
}

bool
gbe_ledger_compact(GbeApp *app, const GbeFacts *facts, GError **error)
{
	g_autoptr(GPtrArray) needed = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(JsonObject) head = json_object_new();
	const GbeLedger *ledger;
	bool due;

	/* The needed records are known only when all these facts are. */
	if ((!gbe_facts_know_listed(facts) && facts->ostree != GBE_NO) || facts->store == GBE_NO ||
	    facts->unread != NULL)
		return true;
	if (!gbe_ledger_load(app, &ledger, error))
		return false;
	needed = gbe_ledger_needed(ledger, facts);
	/* Twice as long as needed; with a hole, only once the hole has healed. */
	due = ledger->holes
		  ? gbe_ledger_has_healed(ledger)
		  : ledger->records->len >= COMPACT_FROM && needed->len * 2 <= ledger->records->len;
	if (ledger->id == NULL || !due)
		return true;
	json_object_set_string_member(head, "id", ledger->id);
	json_object_set_int_member(head, "format", GBE_FORMAT);
	json_object_set_string_member(head, "written_by", GBE_VERSION);
	json_object_set_int_member(head, "sequence", (gint64)ledger->last);
	fill_in(app, GBE_LEDGER_HEAD, head);
	for (guint i = 0; i <= needed->len; i++) {
		const GbeLedgerRecord *record = i > 0 ? needed->pdata[i - 1] : NULL;
		g_autofree char *line = print_line(record != NULL ? record->object : head);

		g_string_append(text, line);
	}
	if (!gbe_write_file_at(app->state_fd, GBE_LEDGER_NAME, text->str, text->len, 0600,
			       GBE_WRITE_DURABLE, error))
		return gbe_prefix(error, GBE_LEDGER_PATH);
	g_clear_pointer(&app->ledger, ledger_file_free);
	return true;
}
