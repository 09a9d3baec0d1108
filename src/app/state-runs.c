/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of app/state.h that is about runs/, and about deployments that are gone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "app/state.h"
#include "base/fault.h"
#include "core/record.h"
#include "core/situation.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/sync.h"
#include "sys/events.h"

#define RUNS "runs"
#define RUNS_DIR GBE_STATE_DIR "/" RUNS
#define RUNS_KEPT 32
#define RECORD_MODE 0600
/* A run's record is some hundred bytes; a newer program's may be longer. */
#define RECORD_MAX (64 * 1024)

/* @make FALSE: *ret_fd -1 where there is none. */
static bool
open_runs(GbeApp *app, gboolean make, int *ret_fd, GError **error)
{
	g_autoptr(GError) local = NULL;

	if (make)
		return gbe_make_dirs(app->root_fd, RUNS_DIR, 0700, ret_fd, error);
	if (gbe_open_dir_at(app->state_fd, RUNS, ret_fd, &local))
		return true;
	if (g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		*ret_fd = -1;
		return true;
	}
	g_propagate_error(error, g_steal_pointer(&local));
	return gbe_prefix(error, RUNS_DIR);
}

bool
gbe_state_sweep(GbeApp *app, GError **error)
{
	gbe_autofd int runs_fd = -1;

	if (app->state_fd < 0)
		return true;
	return gbe_sweep_writes_at(app->state_fd, GBE_STATE_DIR, error) &&
	       open_runs(app, FALSE, &runs_fd, error) &&
	       (runs_fd < 0 || gbe_sweep_writes_at(runs_fd, RUNS_DIR, error));
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, so by sequence. */
static bool
list_names(int runs_fd, GPtrArray **ret_names, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;

	if (!gbe_list_at(runs_fd, RUNS_DIR, &names, error))
		return false;
	for (guint i = names->len; i-- > 0;)
		if (*(const char *)names->pdata[i] == '.')
			g_ptr_array_remove_index_fast(names, i);
	g_ptr_array_sort(names, compare_names);
	*ret_names = g_steal_pointer(&names);
	return true;
}

static bool
read_run(int runs_fd, const char *name, GbeRunRecord **ret_record, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_autofree char *bytes = NULL;
	GbeRunRecord *record = NULL;
	gsize size;

	if (!gbe_read_file_at(runs_fd, name, RECORD_MAX, &bytes, &size, error) ||
	    !gbe_record_open(bytes, size, name, &object, error) ||
	    !gbe_run_record_from_json(object, &record, error))
		return false;
	(void)gbe_run_record_name_parse(name, &record->sequence, &record->verdict);
	*ret_record = record;
	return true;
}

/* Two of one sequence are what a cut between two steps left: the one that says more counts. */
static void
add_run(GPtrArray *runs, GbeRunRecord *record)
{
	GbeRunRecord *last = runs->len > 0 ? runs->pdata[runs->len - 1] : NULL;

	if (last == NULL || last->sequence != record->sequence) {
		g_ptr_array_add(runs, record);
	} else if (record->verdict > last->verdict) {
		gbe_run_record_free(last);
		runs->pdata[runs->len - 1] = record;
	} else {
		gbe_run_record_free(record);
	}
}

bool
gbe_state_observe_runs(GbeApp *app, gboolean repair, GbeFacts *facts, GError **error)
{
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int runs_fd = -1;

	if (!open_runs(app, FALSE, &runs_fd, error))
		return false;
	if (runs_fd < 0)
		return true;
	if (!list_names(runs_fd, &names, error))
		return false;
	for (guint i = 0; i < names->len; i++) {
		const char *name = names->pdata[i];
		g_autoptr(GError) local = NULL;
		GbeRunRecord *record = NULL;
		GbeEventFields fields = {0};

		if (!gbe_run_record_name_parse(name, NULL, NULL))
			continue;
		if (read_run(runs_fd, name, &record, &local)) {
			add_run(facts->runs, record);
		} else if (repair && g_error_matches(local, GBE_ERROR, GBE_ERROR_CORRUPT)) {
			gbe_state_set_aside(runs_fd, name, local);
		} else {
			(void)gbe_facts_note_unread(facts, local);
			fields.reason = local->message;
			gbe_event_state_broken(&fields);
		}
	}
	return true;
}

guint64
gbe_state_largest_sequence(const GbeFacts *facts)
{
	guint64 largest = facts->copy != NULL ? facts->copy->sequence : 0;

	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *record = facts->runs->pdata[i];

		largest = MAX(largest, record->sequence);
	}
	for (guint i = 0; i < facts->gone->len; i++) {
		const GbeGone *gone = facts->gone->pdata[i];

		largest = MAX(largest, gone->sequence);
	}
	return largest;
}

/* Removes what else is there under @keep's sequence; not synced. */
static bool
remove_others(int runs_fd, guint64 sequence, const char *keep, GError **error)
{
	static const GbeVerdict verdicts[] = {GBE_VERDICT_NONE, GBE_VERDICT_JUDGING,
					      GBE_VERDICT_GREEN, GBE_VERDICT_RED};

	for (gsize i = 0; i < G_N_ELEMENTS(verdicts); i++) {
		g_autofree char *name = gbe_run_record_name(sequence, verdicts[i]);

		if (g_str_equal(name, keep))
			continue;
		if (unlinkat(runs_fd, name, 0) < 0 && errno != ENOENT)
			return gbe_throw_errno(error, errno, "cannot remove %s/%s", RUNS_DIR, name);
	}
	return true;
}

static char *
print_run(const GbeRunRecord *record)
{
	g_autoptr(JsonObject) object = gbe_run_record_to_json(record);
	g_autofree char *json = gbe_json_print_object(object);

	return gbe_record_seal(json);
}

static bool
write_run(int runs_fd, const char *name, const GbeRunRecord *record, GbeWrite how, GError **error)
{
	g_autofree char *sealed = print_run(record);

	return gbe_write_file_at(runs_fd, name, sealed, strlen(sealed), RECORD_MODE, how, error) ||
	       gbe_prefix(error, RUNS_DIR);
}

bool
gbe_state_begin_run(GbeApp *app, const GbeRunRecord *record, GbeWrite how, GError **error)
{
	g_autofree char *name = gbe_run_record_name(record->sequence, GBE_VERDICT_NONE);
	gbe_autofd int runs_fd = -1;

	if (!open_runs(app, TRUE, &runs_fd, error))
		return false;
	/* The others go first: a verdict left from an earlier use of the number would count more. */
	return remove_others(runs_fd, record->sequence, name, error) &&
	       write_run(runs_fd, name, record, how, error);
}

bool
gbe_state_judge_run(GbeApp *app, const GbeRunRecord *before, const GbeRunRecord *after,
		    GError **error)
{
	GbeVerdict old_verdict = before != NULL ? before->verdict : after->verdict;
	g_autofree char *old_name = gbe_run_record_name(after->sequence, old_verdict);
	g_autofree char *new_name = gbe_run_record_name(after->sequence, after->verdict);
	g_autofree char *old_text = before != NULL ? print_run(before) : NULL;
	g_autofree char *new_text = print_run(after);
	gbe_autofd int runs_fd = -1;

	if (!open_runs(app, TRUE, &runs_fd, error))
		return false;
	if ((g_strcmp0(old_text, new_text) != 0 ||
	     faccessat(runs_fd, old_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0) &&
	    !write_run(runs_fd, old_name, after, GBE_WRITE_NO_DIR, error))
		return false;
	if (GBE_FAULT("state-run-written", error))
		return false;
	if (renameat(runs_fd, old_name, runs_fd, new_name) < 0)
		return gbe_throw_errno(error, errno, "cannot rename %s/%s", RUNS_DIR, old_name);
	if (GBE_FAULT("state-run-renamed", error))
		return false;
	return remove_others(runs_fd, after->sequence, new_name, error) &&
	       gbe_sync_dir(runs_fd, RUNS_DIR, error);
}

/* The first green run of each listed deployment tells that it was green ever. */
static void
keep_first_greens(const GbeFacts *facts, GHashTable *kept)
{
	for (guint i = 0; i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];
		const GbeRunRecord *first = NULL;

		for (guint j = 0; j < facts->runs->len; j++) {
			const GbeRunRecord *record = facts->runs->pdata[j];

			if (record->verdict == GBE_VERDICT_GREEN &&
			    (first == NULL || record->sequence < first->sequence) &&
			    gbe_situation_is_of(facts, &record->deployment, record->sequence,
						&listed->ref))
				first = record;
		}
		if (first != NULL)
			g_hash_table_add(kept, g_memdup2(&first->sequence, sizeof(guint64)));
	}
}

static void
keep_stamp(const GbeStamp *stamp, GHashTable *kept)
{
	if (stamp != NULL)
		g_hash_table_add(kept, g_memdup2(&stamp->sequence, sizeof(guint64)));
}

/* The number that a name begins with, also one that was set aside; 0: none. */
static guint64
sequence_of(const char *name)
{
	guint64 sequence = 0;
	char *end = NULL;

	if (strspn(name, "0123456789") == 20 && name[20] == '.')
		sequence = g_ascii_strtoull(name, &end, 10);
	return sequence;
}

bool
gbe_state_prune_runs(GbeApp *app, const GbeFacts *facts, GError **error)
{
	g_autoptr(GHashTable) kept =
	    g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int runs_fd = -1;
	guint64 newest = 0;
	guint seen = 0;
	gboolean removed = FALSE;

	if (facts->listed == NULL || app->state_fd < 0)
		return true;
	if (!open_runs(app, FALSE, &runs_fd, error))
		return false;
	if (runs_fd < 0)
		return true;
	if (!list_names(runs_fd, &names, error))
		return false;
	keep_first_greens(facts, kept);
	keep_stamp(facts->stamp, kept);
	keep_stamp(facts->copy, kept);
	for (guint i = names->len; i > 0; i--) {
		const char *name = names->pdata[i - 1];
		guint64 sequence = sequence_of(name);

		if (sequence == 0)
			continue;
		if (sequence != newest && gbe_run_record_name_parse(name, NULL, NULL)) {
			newest = sequence;
			seen++;
		}
		if (seen <= RUNS_KEPT || g_hash_table_contains(kept, &sequence))
			continue;
		if (unlinkat(runs_fd, name, 0) < 0 && errno != ENOENT)
			return gbe_throw_errno(error, errno, "cannot remove %s/%s", RUNS_DIR, name);
		removed = TRUE;
	}
	return !removed || gbe_sync_dir(runs_fd, RUNS_DIR, error);
}
