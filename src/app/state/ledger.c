/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/state/ledger.h"

#include "app/state/ledger-private.h"
#include "base/crc32c.h"
#include "base/fault.h"
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

/* A ledger with fewer records is never written anew. */
#define COMPACT_FROM 512

char *
gbe_ledger_nonce(void)
{
	guint64 bytes = 0;

	while (getrandom(&bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		;
	return g_strdup_printf("%016" G_GINT64_MODIFIER "x", bytes);
}

static char *
print_line(JsonObject *object)
{
	g_autofree char *json = gbe_json_print_line(object);

	return g_strdup_printf("%08x %s", gbe_crc32c(0, json, strlen(json) - 1), json);
}

static bool
write_at_end(GbeLedgerFile *file, const char *line, GError **error)
{
	gsize size = strlen(line), done = 0;

	while (done < size) {
		ssize_t wrote =
		    pwrite(file->fd, line + done, size - done, (off_t)(file->end + done));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return gbe_throw_errno(error, errno, "cannot append to " GBE_LEDGER_PATH);
		done += (gsize)wrote;
	}
	return true;
}

/* Cuts off what follows the last whole line. */
static bool
cut_tail(GbeLedgerFile *file, GError **error)
{
	if (ftruncate(file->fd, (off_t)file->end) < 0)
		return gbe_throw_errno(error, errno,
				       "cannot cut the torn end off " GBE_LEDGER_PATH);
	file->size = file->end;
	return gbe_sync_file(file->fd, GBE_LEDGER_PATH, error);
}

static bool
try_append(GbeLedgerFile *file, const char *line, GbeWrite how, GError **error)
{
	file->size = file->end + strlen(line);
	return write_at_end(file, line, error) && !GBE_FAULT("ledger-written", error) &&
	       (how != GBE_WRITE_DURABLE || gbe_sync_file(file->fd, GBE_LEDGER_PATH, error));
}

static bool
append(GbeApp *app, JsonObject *object, GbeWrite how, GError **error)
{
	GbeLedgerFile *file = app->ledger;
	g_autofree char *line = print_line(object);
	g_autoptr(JsonObject) again = NULL;
	g_autoptr(GError) local = NULL;
	bool ok;

	if (!gbe_json_parse_object(line + GBE_LEDGER_CRC_LEN, strlen(line) - GBE_LEDGER_CRC_LEN,
				   "it", &again, &local))
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "a record in " GBE_LEDGER_PATH " could not be read again: %s",
				 local->message);
	ok = try_append(file, line, how, &local);
	if (!ok && g_error_matches(local, GBE_ERROR, GBE_ERROR_NO_SPACE)) {
		gbe_reserve_release_at(app->state_fd, GBE_RESERVE_NAME);
		g_clear_error(&local);
		ok = try_append(file, line, how, &local);
	}
	if (!ok) {
		/* On failure, the next append cuts it off. */
		if (ftruncate(file->fd, (off_t)file->end) < 0)
			g_debug("the torn end of " GBE_LEDGER_PATH " stays for now");
		g_propagate_error(error, g_steal_pointer(&local));
		return false;
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

static bool
begin(GbeApp *app, GError **error)
{
	g_autoptr(JsonObject) head = json_object_new();
	g_autofree char *id = gbe_ledger_nonce();

	json_object_set_string_member(head, "id", id);
	json_object_set_int_member(head, "format", GBE_FORMAT);
	json_object_set_string_member(head, "written_by", GBE_VERSION);
	fill_in(app, GBE_LEDGER_HEAD, head);
	/* The directory is synced first: later appends sync only the content of the file. */
	return gbe_sync_dir(app->state_fd, GBE_STATE_DIR, error) &&
	       append(app, head, GBE_WRITE_DURABLE, error);
}

/* Prepares the file for an append: read to its end, a whole last line, and a head. */
static bool
prepare(GbeApp *app, GError **error)
{
	g_autoptr(GError) local = NULL;
	const GbeLedger *ledger;

	if (!gbe_app_open_state(app, true, error))
		return false;
	if (!gbe_ledger_load(app, &ledger, &local)) {
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_CORRUPT)) {
			g_propagate_error(error, g_steal_pointer(&local));
			return false;
		}
		gbe_event_state_broken(&(GbeEventFields){.reason = local->message});
		if (!gbe_set_broken_aside_at(app->state_fd, GBE_LEDGER_NAME, NULL, error) ||
		    !gbe_ledger_load(app, &ledger, error))
			return false;
	}
	if (app->ledger->fd < 0 && !gbe_ledger_open(app, O_RDWR | O_CREAT, &app->ledger->fd, error))
		return false;
	if (app->ledger->size > app->ledger->end && !cut_tail(app->ledger, error))
		return false;
	return ledger->id != NULL || begin(app, error);
}

bool
gbe_ledger_append(GbeApp *app, GbeLedgerKind kind, JsonObject *object, GbeWrite how, GError **error)
{
	g_autoptr(JsonObject) record = object;

	if (app->lock == NULL)
		return gbe_throw(error, GBE_ERROR_BUSY, "no lock, no record in " GBE_LEDGER_PATH);
	if (!prepare(app, error))
		return false;
	fill_in(app, kind, record);
	return append(app, record, how, error);
}

void
gbe_ledger_reserve(GbeApp *app, guint64 upto)
{
	if (app->ledger != NULL && upto <= GBE_LEDGER_SEQUENCE_MAX)
		app->ledger->ledger->last = MAX(app->ledger->ledger->last, upto);
}

/* True: the ledger is twice as long as needed; if it has a hole, only once the hole has healed. */
static bool
is_due(const GbeLedger *ledger, const GPtrArray *needed)
{
	if (ledger->holes)
		return gbe_ledger_has_healed(ledger);
	return ledger->records->len >= COMPACT_FROM && needed->len * 2 <= ledger->records->len;
}

bool
gbe_ledger_compact(GbeApp *app, const GbeFacts *facts, GError **error)
{
	g_autoptr(GPtrArray) needed = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(JsonObject) head = json_object_new();
	const GbeLedger *ledger;

	/* The needed records are known only when all these facts are. */
	if ((facts->listed == NULL && facts->ostree != GBE_NO) || facts->store == GBE_NO ||
	    facts->unread != NULL)
		return true;
	if (!gbe_ledger_load(app, &ledger, error))
		return false;
	needed = gbe_ledger_needed(ledger, facts);
	if (ledger->id == NULL || !is_due(ledger, needed))
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
	g_clear_pointer(&app->ledger, gbe_ledger_file_free);
	return true;
}
