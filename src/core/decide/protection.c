/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/protection.h"

#include "base/format.h"

#define PRERUN "greenboot-etcd-prerun.service"
#define SET_SERVICE                                                                                \
	"set service= of [etcd] to the unit that starts etcd, then `systemctl daemon-reload`"

#define P GBE_IN_PREFLIGHT
#define W GBE_IN_WARNINGS
#define M GBE_IN_MOTD
#define BAD GBE_LEVEL_BAD
#define NOTE GBE_LEVEL_NOTE
#define UNKNOWN GBE_LEVEL_UNKNOWN
#define NOT GBE_NOT_PROTECTED
#define YOU GBE_NEEDS_YOU
#define COVERED true /* a member of a cluster still gets lost data back */

static const struct {
	const char *check;
	GbeLevel level;
	guint in;
	GbeProtectionState state;
	bool covered;
} kinds[GBE_N_NOTICES] = {
    [GBE_NOTICE_HELD] = {"etcd", BAD, M, YOU, false},
    [GBE_NOTICE_OFF] = {"etcd", NOTE, P, NOT, false},
    [GBE_NOTICE_PRERUN] = {"prerun", BAD, P, NOT, false},
    [GBE_NOTICE_NO_SERVICE] = {"prerun", BAD, P | W, NOT, false},
    [GBE_NOTICE_ORDER] = {"prerun", BAD, P, NOT, false},
    [GBE_NOTICE_SKIPPED] = {"prerun", NOTE, 0, NOT, false},
    [GBE_NOTICE_ELSEWHERE] = {"prerun", BAD, P, NOT, false},
    [GBE_NOTICE_UNREAD] = {"data", UNKNOWN, P | W, NOT, false},
    [GBE_NOTICE_OTHER_DATA] = {"etcd", BAD, P, NOT, false},
    [GBE_NOTICE_PARTIAL] = {"data", BAD, P, NOT, false},
    [GBE_NOTICE_BOOTED] = {"system", BAD, P | W, NOT, COVERED},
    [GBE_NOTICE_SYSTEM] = {"system", BAD, P, NOT, COVERED},
    [GBE_NOTICE_STAGED] = {"staged", BAD, P, NOT, COVERED},
    [GBE_NOTICE_STORE_AWAY] = {"store", BAD, P | W | M, NOT, false},
    [GBE_NOTICE_STORE_READ_ONLY] = {"store", BAD, P | W, NOT, false},
    [GBE_NOTICE_STORE] = {"store", BAD, P, NOT, false},
    [GBE_NOTICE_EXCHANGE] = {"exchange", BAD, P, NOT, false},
    [GBE_NOTICE_GREENBOOT] = {"greenboot", BAD, P, NOT, COVERED},
    [GBE_NOTICE_NO_DATA] = {"data", NOTE, P, NOT, false},
    [GBE_NOTICE_NO_BACKUP] = {"store", NOTE, 0, NOT, false},
    [GBE_NOTICE_DAMAGED] = {"store", NOTE, P | W, YOU, false},
    [GBE_NOTICE_UNHEALTHY] = {"etcd", BAD, P | M, YOU, false},
    [GBE_NOTICE_FAILED_RESTORE] = {"last", NOTE, W | M, YOU, false},
    [GBE_NOTICE_FAILED] = {"last", NOTE, M, YOU, false},
    [GBE_NOTICE_WAS_HELD] = {"last", NOTE, 0, YOU, false},
    [GBE_NOTICE_PERIODIC] = {"periodic", NOTE, W | M, YOU, false},
    [GBE_NOTICE_PERIODIC_LAST] = {"periodic", NOTE, 0, YOU, false},
    [GBE_NOTICE_OFFSITE] = {"offsite", NOTE, W | M, YOU, false},
    [GBE_NOTICE_NEXT_START] = {"next", NOTE, 0, YOU, false},
    [GBE_NOTICE_UNTOLD] = {"etcd", UNKNOWN, P | M, YOU, false},
    [GBE_NOTICE_NO_ANSWER] = {"etcd", UNKNOWN, 0, NOT, false},
    [GBE_NOTICE_LISTED] = {"system", UNKNOWN, P | W, YOU, false},
    [GBE_NOTICE_LEDGER] = {"data", NOTE, P | W, YOU, false},
    [GBE_NOTICE_LOCKED] = {"staged", NOTE, P | W, YOU, false},
    [GBE_NOTICE_WARNING] = {"past", NOTE, W, YOU, false},
    [GBE_NOTICE_WAS_UNHEALTHY] = {"etcd", BAD, P | M, GBE_PROTECTED, false},
    [GBE_NOTICE_WAS_UNTOLD] = {"etcd", UNKNOWN, P | M, GBE_PROTECTED, false},
    [GBE_NOTICE_REHEARSAL] = {"rehearsal", BAD, P | M, GBE_PROTECTED, false},
    [GBE_NOTICE_LAST] = {"last", NOTE, M, GBE_PROTECTED, false},
    [GBE_NOTICE_PREFLIGHT] = {NULL, GBE_LEVEL_OK, P, GBE_PROTECTED, false},
};

static const char *const states[] = {[GBE_PROTECTED] = "protected",
				     [GBE_NOT_PROTECTED] = "not-protected",
				     [GBE_NEEDS_YOU] = "needs-you"};
const GbeWords gbe_protection_words = {states, G_N_ELEMENTS(states), GBE_NOT_PROTECTED,
				       GBE_NOT_PROTECTED};

static const GbeField protection_fields[] = {
    GBE_FIELD_OF(GbeProtection, state, "state", WORD, &gbe_protection_words, 0),
    GBE_FIELD(GbeProtection, reason, "reason", TEXT),
    GBE_FIELD(GbeProtection, hint, "hint", TEXT),
    GBE_FIELD(GbeProtection, safe, "safe", TEXT),
    GBE_FIELD(GbeProtection, steps, "steps", TEXTS),
    GBE_FIELD(GbeProtection, covered, "covered", TEXT),
    GBE_FIELD(GbeProtection, certain, "certain", FLAG),
    GBE_FIELD(GbeProtection, needs, "needs", TEXTS),
    {0},
};
const GbeFieldItems gbe_protection_items = {protection_fields, sizeof(GbeProtection)};

const char *
gbe_level_to_string(GbeLevel level)
{
	static const char *const words[] = {[GBE_LEVEL_OK] = "ok",
					    [GBE_LEVEL_NOTE] = "note",
					    [GBE_LEVEL_UNKNOWN] = "unknown",
					    [GBE_LEVEL_BAD] = "bad"};

	return words[level];
}

/* ---- the list ---- */

static void
notice_free(gpointer data)
{
	GbeNotice *notice = data;

	g_free(notice->text);
	g_free(notice->hint);
	g_free(notice->line);
	g_clear_pointer(&notice->steps, g_ptr_array_unref);
	g_free(notice);
}

GPtrArray *
gbe_notices_new(void)
{
	return g_ptr_array_new_with_free_func(notice_free);
}

void
gbe_notice_add(GPtrArray *notices, GbeNoticeKind kind, const char *hint, const char *format, ...)
{
	GbeNotice *notice = g_new0(GbeNotice, 1);

	notice->kind = kind;
	notice->check = kinds[kind].check;
	notice->level = kinds[kind].level;
	notice->text = GBE_VFORMAT(format);
	notice->hint = g_strdup(hint);
	notice->line = g_strconcat(notice->text, hint != NULL ? "; " : NULL, hint, NULL);
	g_ptr_array_add(notices, notice);
}

const char *
gbe_notice_kind_check(GbeNoticeKind kind)
{
	return kinds[kind].check;
}

void
gbe_notice_held(GPtrArray *notices, const GbeHeld *held)
{
	const char *hint = held->steps->len > 0 ? NULL : GBE_HOLD_NO_STEPS;
	GbeNotice *notice;

	gbe_notice_add(notices, GBE_NOTICE_HELD, hint, "etcd is held back: %s", held->why);
	notice = notices->pdata[notices->len - 1];
	notice->steps = g_ptr_array_ref(held->steps);
	notice->safe = gbe_holds[held->kind].safe;
}

void
gbe_notice_step(GPtrArray *notices, const char *format, ...)
{
	GbeNotice *notice = notices->pdata[notices->len - 1];

	if (notice->steps == NULL)
		notice->steps = g_ptr_array_new_with_free_func(g_free);
	g_ptr_array_add(notice->steps, GBE_VFORMAT(format));
}

void
gbe_notice_check(GPtrArray *notices, const char *check, GbeLevel level, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);
	GbeNotice *notice;

	gbe_notice_add(notices, GBE_NOTICE_PREFLIGHT, NULL, "%s", text);
	notice = notices->pdata[notices->len - 1];
	notice->check = check;
	notice->level = level;
}

bool
gbe_notice_is_in(const GbeNotice *notice, guint in)
{
	return (kinds[notice->kind].in & in) != 0;
}

GPtrArray *
gbe_notices_lines(const GPtrArray *notices, guint in)
{
	GPtrArray *lines = g_ptr_array_new();

	for (guint i = 0; i < notices->len; i++) {
		const GbeNotice *notice = notices->pdata[i];

		if (gbe_notice_is_in(notice, in))
			g_ptr_array_add(lines, g_strdup(notice->line));
	}
	return lines;
}

/* The first of the most urgent notices from @from to @to; NULL: the list has none of these. Warnings are equally
 * urgent. */
static const GbeNotice *
most_urgent(const GPtrArray *notices, GbeNoticeKind from, GbeNoticeKind to)
{
	const GbeNotice *first = NULL;

	for (guint i = 0; i < notices->len; i++) {
		const GbeNotice *notice = notices->pdata[i];

		if (notice->kind >= from && notice->kind <= to &&
		    (first == NULL ||
		     (notice->kind < first->kind && notice->kind < GBE_NOTICE_LISTED)))
			first = notice;
	}
	return first;
}

/* ---- what follows ---- */

/* False: no other etcd is there. */
static bool
add_elsewhere(const GbeStartFacts *f, GbeNoticeKind kind, GPtrArray *notices)
{
	const char *see = "see DETECTION in greenboot-etcd.conf(5)";

	if (f->ambiguous != NULL)
		gbe_notice_add(notices, kind, see, "%s", f->ambiguous);
	else if (f->unprotected_why != NULL)
		gbe_notice_add(notices, kind, see, "%s is here and not protected: %s",
			       f->unprotected, f->unprotected_why);
	else if (f->unprotected != NULL)
		gbe_notice_add(
		    notices, kind,
		    "configure greenboot-etcd for it (greenboot-etcd.conf(5)), or mask it",
		    "%s is here and not protected: service= of [etcd] is %s", f->unprotected,
		    f->service);
	else
		return false;
	return true;
}

void
gbe_notices_of_start(const GbeStartFacts *f, GPtrArray *notices)
{
	if (f->service == NULL || *f->service == '\0') {
		gbe_notice_add(notices, GBE_NOTICE_OFF, SET_SERVICE,
			       "service= of [etcd] is empty: greenboot-etcd is off");
		return;
	}
	if (f->prerun == GBE_NO)
		gbe_notice_add(notices, GBE_NOTICE_PRERUN,
			       "install the package greenboot-etcd again",
			       PRERUN " is not installed");
	else if (f->prerun == GBE_UNKNOWN)
		gbe_notice_add(
		    notices, GBE_NOTICE_PRERUN,
		    "`systemctl unmask " PRERUN "`, with --runtime if it was masked for this boot",
		    PRERUN " is masked: nothing is backed up or restored when etcd starts");
	if (!f->service_known) {
		/* An application that has etcd is a better answer than the missing unit. */
		(void)add_elsewhere(f, GBE_NOTICE_PRERUN, notices);
		if (f->without_etcd != NULL)
			gbe_notice_add(notices, GBE_NOTICE_NO_SERVICE, f->without_etcd_hint, "%s",
				       f->without_etcd);
		else
			gbe_notice_add(notices, GBE_NOTICE_NO_SERVICE, SET_SERVICE,
				       "there is no %s", f->service);
		return;
	}
	if (f->other != NULL)
		gbe_notice_add(notices, GBE_NOTICE_ORDER, SET_SERVICE,
			       "%s has etcd's data open, and service= of [etcd] is %s", f->other,
			       f->service);
	else if (f->ordered == GBE_NO && f->prerun == GBE_YES)
		gbe_notice_add(notices, GBE_NOTICE_ORDER,
			       "`systemctl daemon-reload`; if that does not help, `greenboot-etcd "
			       "config --check`",
			       "%s does not wait for " PRERUN, f->service);
	if (f->skipped)
		gbe_notice_add(notices, GBE_NOTICE_SKIPPED, "boot without it",
			       "greenboot-etcd.skip is on the kernel command line: nothing was "
			       "done before etcd started");
	(void)add_elsewhere(f, GBE_NOTICE_ELSEWHERE, notices);
}

const GbeNotice *
gbe_protection_off(const GPtrArray *notices)
{
	return most_urgent(notices, GBE_NOTICE_OFF, GBE_NOTICE_ORDER);
}

static GPtrArray *
needs_of(const GPtrArray *notices)
{
	GPtrArray *needs = g_ptr_array_new();

	for (guint i = 0; i < notices->len; i++) {
		const GbeNotice *notice = notices->pdata[i];

		if (notice->kind < GBE_NOTICE_UNTOLD &&
		    !g_ptr_array_find_with_equal_func(needs, notice->check, g_str_equal, NULL))
			g_ptr_array_add(needs, g_strdup(notice->check));
	}
	return needs;
}

/* The first whole command in the backquotes of @text, newly allocated; NULL: @text has no command that works as it
 * stands. */
static char *
command_in(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "`", -1);

	for (guint i = 1; parts[i] != NULL && parts[i + 1] != NULL; i += 2) {
		g_auto(GStrv) words = g_strsplit(parts[i], " ", -1);
		bool whole = true;

		for (guint k = 0; words[k] != NULL; k++)
			whole = whole && !g_ascii_isupper(words[k][0]);
		if (whole && words[0] != NULL && words[1] != NULL)
			return g_strdup(parts[i]);
	}
	return NULL;
}

GbeProtection *
gbe_protection_judge(const GPtrArray *notices, bool member)
{
	const GbeNotice *first = most_urgent(notices, GBE_NOTICE_HELD, GBE_NOTICE_WARNING);
	char *command;
	GbeProtection *to = gbe_fields_new(&gbe_protection_items);

	to->steps = g_ptr_array_new(); /* its table frees the texts */
	to->state = first != NULL ? kinds[first->kind].state : GBE_PROTECTED;
	to->certain = first == NULL || first->kind < GBE_NOTICE_UNTOLD;
	to->needs = needs_of(notices);
	if (first == NULL)
		return to;
	to->reason = g_strdup(first->text);
	to->safe = g_strdup(first->safe);
	for (guint i = 0; first->steps != NULL && i < first->steps->len; i++)
		g_ptr_array_add(to->steps, g_strdup(first->steps->pdata[i]));
	command = first->hint == NULL && to->steps->len == 0 ? command_in(first->text) : NULL;
	if (command == NULL && to->state == GBE_NOT_PROTECTED && first->hint == NULL &&
	    to->steps->len == 0)
		command = g_strdup("greenboot-etcd preflight");
	if (command != NULL)
		g_ptr_array_add(to->steps, command);
	if (to->state == GBE_NOT_PROTECTED)
		to->hint =
		    g_strdup(first->hint != NULL ? first->hint : "`greenboot-etcd preflight`");
	else if (first->hint != NULL)
		to->hint = g_strconcat(first->hint, ": ", first->text, NULL);
	else
		to->hint = g_strdup(first->text);
	/* Without a rollback of the system. Backups need their store. */
	if (member && kinds[first->kind].covered &&
	    most_urgent(notices, GBE_NOTICE_STORE_AWAY, GBE_NOTICE_EXCHANGE) == NULL)
		to->covered =
		    g_strdup("lost data comes back from the other members, and backups work");
	return to;
}
