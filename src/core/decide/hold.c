/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/hold.h"

#include <stddef.h>
#include <string.h>

#define START "systemctl start {service}"
/* A last resort for data that etcd can use: this way gives up the protection of this boot. */
#define UNPROTECTED                                                                                \
	{                                                                                          \
		"systemctl mask --runtime greenboot-etcd-prerun.service", START                    \
	}
#define RETRY                                                                                      \
	{                                                                                          \
		START                                                                              \
	}
#define RESTORE                                                                                    \
	{                                                                                          \
		"greenboot-etcd restore {backup} --stop", START                                    \
	}
#define DROPIN "/etc/greenboot-etcd/greenboot-etcd.conf.d"
#define SET_DATA_DIR                                                                               \
	{                                                                                          \
		"mkdir -p " DROPIN,                                                                \
		    "printf '[etcd]\\ndata-dir=%s\\n' {old} >" DROPIN "/99-data-dir.conf",         \
		    "systemctl daemon-reload", START                                               \
	}
#define UNTOUCHED "The data is unchanged."
#define NO_WAY_BACK "The data is unchanged. Without a backup, a failed update could not be undone."

const GbeHoldText gbe_holds[GBE_N_HOLDS] = {
    [GBE_HOLD_OPEN] = {"a process may have the data open, and another deployment had it last",
		       "The data is unchanged. Two programs must not write to it at the same time.",
		       {{"{end}", START}, RETRY}},
    [GBE_HOLD_UNREAD] = {"the data directory cannot be read, and another deployment had it last",
			 NO_WAY_BACK,
			 {RETRY}},
    [GBE_HOLD_DEFORMED] =
	{"the data has a file that etcd does not make, and another deployment had it last",
	 NO_WAY_BACK,
	 {{"greenboot-etcd restore {backup} --stop --force", START}}},
    [GBE_HOLD_LINKED] = {"the data directory is a link, and another deployment had the data last",
			 NO_WAY_BACK,
			 {SET_DATA_DIR}},
    [GBE_HOLD_MOUNT] = {"the data directory was a mount point and its mount is missing",
			"etcd would begin an empty database in the bare directory.",
			{{"systemctl start {mount}", START}}},
    [GBE_HOLD_ELSEWHERE] =
	{"there is no data here, and it still lies where another data-dir= had it",
	 "etcd would begin an empty database. The data in the other directory is unchanged.",
	 {SET_DATA_DIR}},
    [GBE_HOLD_MEMBER] = {"this is a member of a cluster, and its data, or its log, is gone",
			 "Without its log, the member could contradict what it has agreed to.",
			 {{"greenboot-etcd cluster rejoin --if-needed"}}},
    [GBE_HOLD_LEAVING] = {"a change of membership was interrupted, and the data is set aside",
			  "The same command resumes the change.",
			  {{"greenboot-etcd {command}"}}},
    [GBE_HOLD_LOG] = {"another deployment had this database last, and its log is missing",
		      "The database is unchanged. Without its log, the latest writes are missing.",
		      {RESTORE}},
    [GBE_HOLD_CORRUPT] = {"the data has a fault that etcd does not survive",
			  "The data is unchanged, because on-corrupt-data=refuse.",
			  {RESTORE}},
    [GBE_HOLD_FAILED] = {"an update was booted on top of a failed one",
			 "The data is unchanged, because on-upgrade-from-failed=refuse.",
			 {RESTORE, UNPROTECTED}},
    [GBE_HOLD_UNUSABLE] = {"this deployment's etcd cannot read the data",
			   "The data is unchanged. The newer system can read it.",
			   {RESTORE, {"{reboot}"}, {"{newer}", "systemctl reboot"}}},
    [GBE_HOLD_ROOM] = {"there is no room for the backup before the update",
		       NO_WAY_BACK,
		       {{"greenboot-etcd delete {spare}", START}, UNPROTECTED}},
    [GBE_HOLD_BACKUP] = {"the backup before the update failed",
			 NO_WAY_BACK,
			 {{"systemctl start {store}", START}, UNPROTECTED}},
    [GBE_HOLD_RECORD] = {"the ledger cannot record that this system has the data",
			 "The data is unchanged. Without the record, a rollback could not find it.",
			 {UNPROTECTED}},
    [GBE_HOLD_RESTORE] = {"a restore that was due failed, and this etcd cannot read the data",
			  UNTOUCHED,
			  {RESTORE, RETRY}},
    [GBE_HOLD_HALF] = {"a restore is half done",
		       "The next start finishes the restore, or undoes it.",
		       {RETRY}},
    [GBE_HOLD_UNFINISHED] = {"two starts in a row did not end, and this system needs a backup",
			     NO_WAY_BACK,
			     {RETRY}},
    [GBE_HOLD_CRASH] = {"greenboot-etcd-prerun did not end, and the system has changed",
			UNTOUCHED,
			{RETRY}},
};

static const char *const words[] = {
    [GBE_HOLD_NO] = "no",
    [GBE_HOLD_OPEN] = "open",
    [GBE_HOLD_UNREAD] = "unread",
    [GBE_HOLD_MOUNT] = "mount",
    [GBE_HOLD_ELSEWHERE] = "elsewhere",
    [GBE_HOLD_MEMBER] = "member",
    [GBE_HOLD_LOG] = "log",
    [GBE_HOLD_CORRUPT] = "corrupt",
    [GBE_HOLD_FAILED] = "failed-update",
    [GBE_HOLD_UNUSABLE] = "unusable",
    [GBE_HOLD_DEFORMED] = "deformed",
    [GBE_HOLD_LINKED] = "linked",
    [GBE_HOLD_LEAVING] = "leaving",
    [GBE_HOLD_ROOM] = "room",
    [GBE_HOLD_BACKUP] = "backup",
    [GBE_HOLD_RECORD] = "record",
    [GBE_HOLD_RESTORE] = "restore",
    [GBE_HOLD_HALF] = "half",
    [GBE_HOLD_UNFINISHED] = "unfinished",
    [GBE_HOLD_CRASH] = "crash",
};
const GbeWords gbe_hold_words = {words, GBE_N_HOLDS, GBE_HOLD_NO, GBE_HOLD_NO};

#define PLACE(name)                                                                                \
	{                                                                                          \
#name, offsetof(GbeHoldFacts, name)                                                \
	}
static const struct {
	const char *name;
	gsize offset;
} places[] = {PLACE(service), PLACE(mount), PLACE(end),	  PLACE(old),	 PLACE(command),
	      PLACE(backup),  PLACE(spare), PLACE(store), PLACE(reboot), PLACE(newer)};

/* The fact in braces at @place, NULL: unknown. *ret_end: after the braces. */
static const char *
find_fact(const char *place, const GbeHoldFacts *facts, const char **ret_end)
{
	const char *end = strchr(place, '}');

	*ret_end = end + 1;
	for (guint i = 0; i < G_N_ELEMENTS(places); i++)
		if (strlen(places[i].name) == (gsize)(end - place) - 1 &&
		    strncmp(places[i].name, place + 1, (gsize)(end - place) - 1) == 0)
			return *(const char *const *)((const char *)facts + places[i].offset);
	return NULL;
}

/* NULL: a fact is unknown. */
static char *
complete_step(const char *step, const GbeHoldFacts *facts)
{
	g_autoptr(GString) text = g_string_new(NULL);

	while (*step != '\0') {
		const char *fact;

		if (*step != '{') {
			g_string_append_c(text, *step++);
			continue;
		}
		fact = find_fact(step, facts, &step);
		if (fact == NULL || *fact == '\0')
			return NULL;
		g_string_append(text, fact);
	}
	return g_string_free(g_steal_pointer(&text), false);
}

GPtrArray *
gbe_hold_steps(GbeHold hold, const GbeHoldFacts *facts)
{
	GPtrArray *steps = g_ptr_array_new_with_free_func(g_free);

	for (guint way = 0; way < GBE_HOLD_WAYS_MAX && gbe_holds[hold].ways[way][0] != NULL;
	     way++) {
		const char *const *templates = gbe_holds[hold].ways[way];
		guint i;

		g_ptr_array_set_size(steps, 0);
		for (i = 0; i < GBE_HOLD_STEPS_MAX && templates[i] != NULL; i++) {
			char *step = complete_step(templates[i], facts);

			if (step == NULL)
				break;
			g_ptr_array_add(steps, step);
		}
		if (i == GBE_HOLD_STEPS_MAX || templates[i] == NULL)
			return steps;
	}
	g_ptr_array_set_size(steps, 0);
	return steps;
}

char *
gbe_hold_steps_text(const GPtrArray *steps)
{
	GString *text;

	if (steps->len == 0)
		return NULL;
	text = g_string_new("run ");
	for (guint i = 0; i < steps->len; i++)
		g_string_append_printf(text, "%s`%s`", i > 0 ? ", then " : "",
				       (const char *)steps->pdata[i]);
	return g_string_free(text, false);
}

char *
gbe_hold_why(GbeHold hold, const GError *error)
{
	return g_strdup_printf("%s: %s", gbe_holds[hold].what, error->message);
}

void
gbe_held_set(GbeHeld *held, GbeHold kind, const char *why, GPtrArray *steps)
{
	g_autofree char *way = gbe_hold_steps_text(steps);

	gbe_held_clear(held);
	held->kind = kind;
	held->why = g_strdup(why != NULL ? why : gbe_holds[kind].what);
	held->steps = steps;
	held->text = g_strconcat(held->why, "; ", way != NULL ? way : GBE_HOLD_NO_STEPS, NULL);
}

void
gbe_held_clear(GbeHeld *held)
{
	g_free(held->why);
	g_free(held->text);
	g_clear_pointer(&held->steps, g_ptr_array_unref);
	*held = (GbeHeld){GBE_HOLD_NO};
}
