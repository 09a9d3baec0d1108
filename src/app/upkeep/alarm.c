/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/upkeep/alarm.h"

#include <string.h>

#include "app/backup/observe.h"
#include "app/device/change.h"
#include "app/upkeep/live-etcd.h"
#include "core/decide/situation.h"
#include "core/health/defrag.h"
#include "core/space.h"
#include "sys/systemd/events.h"

#define ASK_SECONDS 5

typedef struct {
	GbeChange change;
	GbeLiveEtcd live;
	const GbeAlarmClear *options;
	GbeAlarmCleared *cleared;
	bool changed; /* a step is done */
	gint64 size_before;
} Clearing;

static void
step_free(gpointer data)
{
	GbeAlarmStep *step = data;

	g_free(step->detail);
	g_free(step);
}

void
gbe_alarm_cleared_free(GbeAlarmCleared *cleared)
{
	if (cleared == NULL)
		return;
	g_ptr_array_unref(cleared->steps);
	g_free(cleared->reason);
	g_free(cleared->backup);
	g_free(cleared);
}

const char *
gbe_step_result_to_string(GbeStepResult result)
{
	static const char *const words[] = {[GBE_STEP_DONE] = "done",
					    [GBE_STEP_SKIPPED] = "skipped",
					    [GBE_STEP_WOULD] = "would",
					    [GBE_STEP_FAILED] = "failed"};

	return words[result];
}

/* Takes @detail. Always true. */
static bool
note_step(Clearing *clearing, const char *name, GbeStepResult result, char *detail)
{
	const GbeAlarmClear *options = clearing->options;
	GbeAlarmStep *step = g_new0(GbeAlarmStep, 1);

	*step = (GbeAlarmStep){name, result, detail};
	g_ptr_array_add(clearing->cleared->steps, step);
	if (options->stepped != NULL)
		options->stepped(step, options->data);
	if (result == GBE_STEP_DONE)
		clearing->changed = true;
	return true;
}

static gint64
deadline_of(const Clearing *clearing)
{
	return g_get_monotonic_time() + (gint64)clearing->options->timeout * G_USEC_PER_SEC;
}

static bool
fail_step(Clearing *clearing, const char *step, const GbeCallFailure *failure, GError **error)
{
	(void)note_step(clearing, step, GBE_STEP_FAILED, g_strdup(failure->why));
	if (clearing->changed)
		return gbe_throw(error, GBE_ERROR_PARTIAL,
				 "the step %s failed: %s; the steps before it stay done, and the "
				 "next call resumes",
				 step, failure->why);
	if (!gbe_live_etcd_has_not(failure))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "etcd has not answered the step %s, and may still be working: %s; "
				 "the next call resumes",
				 step, failure->why);
	return gbe_throw(error, gbe_call_code(failure, GBE_ERROR_FAILED),
			 "etcd did not do the step %s: %s", step, failure->why);
}

static bool
throw_corrupt(GbeApp *app, GError **error)
{
	const GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	const GbeManifest *good = NULL;
	g_autofree char *age = NULL;

	if (gbe_observe(app, &options, &observed, NULL))
		good = gbe_situation_last_good(observed->facts);
	if (good == NULL)
		return gbe_throw(
		    error, GBE_ERROR_REFUSED,
		    "etcd has the alarm CORRUPT, which is never cleared here: its data is damaged. "
		    "A good backup is missing; `greenboot-etcd list` shows the others");
	age = gbe_duration_to_text((guint64)MAX(observed->facts->now - good->created, 0));
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "etcd has the alarm CORRUPT, which is never cleared here: its data is "
			 "damaged. The last good backup, %s, is %s old: `greenboot-etcd restore "
			 "--last-good --stop` restores it",
			 good->name, age);
}

static bool
look_at_alarm(gpointer change, GError **error)
{
	Clearing *clearing = change;
	GbeLiveEtcd *live = &clearing->live;
	GbeAlarmCleared *cleared = clearing->cleared;
	const GbeHealthFacts *facts;

	if (!gbe_live_etcd_open(clearing->change.app, clearing->change.name, live, error))
		return false;
	gbe_live_etcd_look(live, 0);
	if (!gbe_live_etcd_check_root(live, error))
		return false;
	facts = live->look->facts;
	if (facts->write.reach != GBE_REACH_ANSWERED)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "etcd does not say which alarms it has: %s",
				 live->look->report->reason);
	if (facts->corrupt)
		return throw_corrupt(live->app, error);
	cleared->was_up = facts->no_space;
	cleared->cleared = clearing->change.ended = !facts->no_space;
	clearing->size_before = MAX(facts->db_size, 0);
	return true;
}

static bool
back_up_and_lock(gpointer change, GError **error)
{
	Clearing *clearing = change;
	GbeAlarmCleared *cleared = clearing->cleared;

	bool dry_run = clearing->options->dry_run;

	if (clearing->options->no_backup)
		(void)note_step(clearing, "backup", GBE_STEP_SKIPPED, g_strdup("--no-backup"));
	else if (dry_run)
		(void)note_step(clearing, "backup", GBE_STEP_WOULD, g_strdup("the data as it is"));
	else if (!gbe_live_etcd_back_up(&clearing->live, "before the alarm NOSPACE was cleared",
					&cleared->backup, error))
		return !note_step(clearing, "backup", GBE_STEP_FAILED, g_strdup((*error)->message));
	else
		(void)note_step(clearing, "backup", GBE_STEP_DONE, g_strdup(cleared->backup));
	return dry_run || gbe_live_etcd_lock(&clearing->live, error);
}

static bool
compact_history(gpointer change, GError **error)
{
	Clearing *clearing = change;
	guint64 keep = clearing->live.app->config->alarm.compact_keep;
	gint64 revision = clearing->live.look->facts->revision;
	gint64 to = gbe_alarm_compaction(revision, keep);
	g_auto(GbeCallFailure) failure = {0};
	g_autofree char *what = g_strdup_printf(
	    "history before revision %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, to, revision);

	if (to == 0)
		return note_step(clearing, "compact", GBE_STEP_SKIPPED,
				 g_strdup_printf("there are %" G_GINT64_FORMAT
						 " revisions, and [alarm] "
						 "compact-keep=%" G_GUINT64_FORMAT,
						 revision, keep));
	if (clearing->options->dry_run)
		return note_step(clearing, "compact", GBE_STEP_WOULD, g_steal_pointer(&what));
	if (gbe_client_compact(clearing->live.look->client, to, deadline_of(clearing), &failure))
		return note_step(clearing, "compact", GBE_STEP_DONE, g_steal_pointer(&what));
	/* etcd has already compacted to a later revision. */
	if (failure.reach == GBE_REACH_DENIED && failure.status == GBE_GRPC_OUT_OF_RANGE)
		return note_step(clearing, "compact", GBE_STEP_SKIPPED,
				 g_strdup_printf("etcd has already compacted the %s", what));
	return fail_step(clearing, "compact", &failure, error);
}

static bool
defragment_db(gpointer change, GError **error)
{
	Clearing *clearing = change;
	const GbeHealthFacts *facts = clearing->live.look->facts;
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GError) no_room = NULL;
	g_autofree char *before = NULL;
	g_autofree char *after = NULL;

	/* etcd does not count the space that the compaction has freed yet: there may be enough room. */
	gbe_live_etcd_look(&clearing->live, 0);
	if (!gbe_live_etcd_check_room(&clearing->live, &no_room))
		return note_step(clearing, "defrag", GBE_STEP_SKIPPED, g_strdup(no_room->message));
	before = gbe_size_to_text((guint64)clearing->size_before);
	if (clearing->options->dry_run)
		return note_step(clearing, "defrag", GBE_STEP_WOULD, g_steal_pointer(&before));
	if (!gbe_client_change(clearing->live.look->client, GBE_MESSAGE_DEFRAGMENT, 0,
			       deadline_of(clearing), &failure))
		return fail_step(clearing, "defrag", &failure, error);
	gbe_live_etcd_look(&clearing->live, 0);
	after = gbe_size_to_text((guint64)MAX(facts->db_size, 0));
	return note_step(clearing, "defrag", GBE_STEP_DONE,
			 g_strdup_printf("%s, was %s", after, before));
}

/* Why etcd would raise the alarm again, newly allocated; NULL: it would not. */
static char *
why_in_vain(const Clearing *clearing)
{
	gint64 size = clearing->live.look->facts->db_size;
	gint64 quota = clearing->live.look->facts->quota;
	g_autofree char *has = NULL;
	g_autofree char *may = NULL;

	if (gbe_alarm_is_full(size, quota) != GBE_YES)
		return NULL;
	has = gbe_size_to_text((guint64)size);
	may = gbe_size_to_text((guint64)quota);
	return g_strdup_printf("etcd's database has %s of a quota of %s, and the next write would "
			       "raise the alarm again: delete keys, or raise --quota-backend-bytes",
			       has, may);
}

static bool
is_member(const GbeEtcdMembers *members, guint64 id)
{
	for (guint i = 0; members->list != NULL && i < members->list->len; i++)
		if (g_array_index(members->list, GbeEtcdMember, i).id == id)
			return true;
	return false;
}

static bool
disarm_alarm(gpointer change, GError **error)
{
	Clearing *clearing = change;
	const GbeHealthLook *look = clearing->live.look;
	const GbeEtcdAlarm own = {look->facts->member_id, GBE_ALARM_NOSPACE};
	g_autoptr(GString) text = g_string_new("NOSPACE");
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdAlarms alarms = {{0}};
	GbeEtcdMembers members = {{0}};
	gint64 deadline;
	bool ok;

	if (clearing->options->dry_run)
		return note_step(clearing, "disarm", GBE_STEP_WOULD, g_strdup("NOSPACE")) &&
		       note_step(clearing, "prove", GBE_STEP_WOULD, g_strdup("a write"));
	clearing->cleared->reason = why_in_vain(clearing);
	clearing->change.ended = clearing->cleared->reason != NULL;
	if (clearing->change.ended)
		return note_step(clearing, "disarm", GBE_STEP_SKIPPED,
				 g_strdup(clearing->cleared->reason));
	if (!gbe_client_disarm(look->client, &own, deadline_of(clearing), &failure))
		return fail_step(clearing, "disarm", &failure, error);
	clearing->changed = true;
	/* Another member may still be full, and frees its own database before its alarm is cleared there. A member that
	 * left the cluster, or that the data had before a snapshot was restored, cannot: etcd keeps its alarm until it
	 * is disarmed. */
	deadline = deadline_of(clearing);
	ok = gbe_client_alarms(look->client, deadline, &alarms, &failure) &&
	     gbe_client_members(look->client, deadline, &members, &failure);
	for (guint i = 0; ok && alarms.list != NULL && i < alarms.list->len; i++) {
		const GbeEtcdAlarm *alarm = &g_array_index(alarms.list, GbeEtcdAlarm, i);

		if (alarm->alarm != GBE_ALARM_NOSPACE || is_member(&members, alarm->member_id))
			continue;
		ok = gbe_client_disarm(look->client, alarm, deadline, &failure);
		g_string_append_printf(text,
				       ", also of the former member %016" G_GINT64_MODIFIER "x",
				       alarm->member_id);
	}
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	if (!ok)
		return fail_step(clearing, "disarm", &failure, error);
	return note_step(clearing, "disarm", GBE_STEP_DONE, g_strdup(text->str));
}

/* The write changes no key. Only the alarm could refuse it, and the alarm is asked for afterwards. */
static bool
prove_by_write(gpointer change, GError **error)
{
	Clearing *clearing = change;
	GbeAlarmCleared *cleared = clearing->cleared;
	GbeClient *client = clearing->live.look->client;
	gint64 deadline = g_get_monotonic_time() + ASK_SECONDS * G_USEC_PER_SEC;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdAlarms alarms = {{0}};
	const GbeEtcdAlarm *left;

	if (!gbe_client_write_nothing(client, deadline, &failure) ||
	    !gbe_client_alarms(client, deadline, &alarms, &failure))
		return fail_step(clearing, "prove", &failure, error);
	left = gbe_etcd_alarms_find(&alarms, GBE_ALARM_NOSPACE);
	if (left != NULL)
		cleared->reason = g_strdup_printf("member %016" G_GINT64_MODIFIER
						  "x also has the alarm NOSPACE: clear it there",
						  left->member_id);
	cleared->cleared = left == NULL;
	(void)note_step(clearing, "prove", cleared->cleared ? GBE_STEP_DONE : GBE_STEP_FAILED,
			g_strdup(cleared->cleared ? "a write went through" : cleared->reason));
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
	if (cleared->cleared) {
		g_autofree char *before = gbe_size_to_text((guint64)clearing->size_before);
		g_autofree char *after =
		    gbe_size_to_text((guint64)MAX(clearing->live.look->facts->db_size, 0));
		g_autofree char *text =
		    g_strdup_printf("its database has %s, and had %s", after, before);
		GbeEventFields fields = {.action = "alarm",
					 .backup = cleared->backup,
					 .reason = text};

		gbe_event_alarm_cleared(&fields);
	}
	return true;
}

/* Without the program's lock, because greenboot waits for it. A dry run also takes the steps that only describe their
 * work. */
static const GbeStep alarm_steps[] = {
    {"alarm-looked", look_at_alarm, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"alarm-locked", back_up_and_lock, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"alarm-compacted", compact_history, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"alarm-defragmented", defragment_db, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"alarm-disarmed", disarm_alarm, NULL, GBE_STEP_LOOK | GBE_STEP_UNLOCKED, 0},
    {"alarm-proved", prove_by_write, NULL, GBE_STEP_UNLOCKED, 0},
    {NULL, NULL, NULL, 0, 0},
};

bool
gbe_alarm_clear(GbeApp *app, const GbeAlarmClear *options, GbeAlarmCleared **ret_cleared,
		GError **error)
{
	g_autoptr(GbeAlarmCleared) cleared = g_new0(GbeAlarmCleared, 1);
	Clearing clearing = {.change = {.app = app,
					.name = "alarm clear",
					.steps = alarm_steps,
					.dry_run = options->dry_run},
			     .options = options,
			     .cleared = cleared};
	bool ok;

	cleared->steps = g_ptr_array_new_with_free_func(step_free);
	ok = gbe_change_run(&clearing.change, error);
	gbe_change_clear(&clearing.change);
	gbe_live_etcd_clear(&clearing.live);
	if (ok || cleared->steps->len > 0)
		*ret_cleared = g_steal_pointer(&cleared);
	return ok;
}
