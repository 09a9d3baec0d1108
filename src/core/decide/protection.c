/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/protection.h"

#include "base/format.h"

#define PRERUN "greenboot-etcd-prerun.service"
#define SET_SERVICE                                                                                \
	"set service= of [etcd] to the unit that starts etcd, then `systemctl daemon-reload`"

const char *
gbe_protection_to_string(GbeProtectionState state)
{
	static const char *const words[] = {[GBE_PROTECTED] = "protected",
					    [GBE_NOT_PROTECTED] = "not-protected",
					    [GBE_NEEDS_YOU] = "needs-you"};

	return words[state];
}

void
gbe_protection_clear(GbeProtection *protection)
{
	g_free(protection->reason);
	g_free(protection->hint);
	*protection = (GbeProtection){.certain = true};
}

static bool say(GbeProtection *to, GbeProtectionState state, const char *hint, const char *format,
		...) G_GNUC_PRINTF(4, 5);

/* Fills in @to. Always returns true: found. */
static bool
say(GbeProtection *to, GbeProtectionState state, const char *hint, const char *format, ...)
{
	to->state = state;
	to->certain = true;
	to->hint = g_strdup(hint);
	to->reason = GBE_VFORMAT(format);
	return true;
}

bool
gbe_protection_is_elsewhere(const GbeProtectionFacts *f, GbeProtection *to)
{
	if (f->ambiguous != NULL)
		return say(to, GBE_NOT_PROTECTED, "see DETECTION in greenboot-etcd.conf(5)", "%s",
			   f->ambiguous);
	if (f->unprotected_why != NULL)
		return say(to, GBE_NOT_PROTECTED, "see DETECTION in greenboot-etcd.conf(5)",
			   "%s is here and not protected: %s", f->unprotected, f->unprotected_why);
	return f->unprotected != NULL &&
	       say(to, GBE_NOT_PROTECTED,
		   "configure greenboot-etcd for it (greenboot-etcd.conf(5)), or mask it",
		   "%s is here and not protected: service= of [etcd] is %s", f->unprotected,
		   f->service);
}

bool
gbe_protection_is_off(const GbeProtectionFacts *f, GbeProtection *to)
{
	if (f->service == NULL || *f->service == '\0')
		return say(to, GBE_NOT_PROTECTED, SET_SERVICE,
			   "service= of [etcd] is empty: greenboot-etcd is off");
	if (f->prerun == GBE_NO)
		return say(to, GBE_NOT_PROTECTED, "install the package greenboot-etcd again",
			   PRERUN " is not installed");
	if (f->prerun == GBE_UNKNOWN)
		return say(to, GBE_NOT_PROTECTED,
			   "`systemctl unmask " PRERUN "`, with --runtime where it was masked for "
			   "this boot",
			   PRERUN " is masked: nothing is backed up or restored when etcd starts");
	if (!f->service_known)
		return gbe_protection_is_elsewhere(f, to) ||
		       say(to, GBE_NOT_PROTECTED, SET_SERVICE, "there is no %s", f->service);
	if (f->other != NULL)
		return say(to, GBE_NOT_PROTECTED, SET_SERVICE,
			   "%s has etcd's data open, and service= of [etcd] is %s", f->other,
			   f->service);
	if (f->ordered == GBE_NO)
		return say(to, GBE_NOT_PROTECTED,
			   "`systemctl daemon-reload`; where that does not help, `greenboot-etcd "
			   "config --check`",
			   "%s does not wait for " PRERUN, f->service);
	return false;
}

static bool
is_not_protected(const GbeProtectionFacts *f, GbeProtection *to)
{
	const char *finding = f->system != NULL	 ? f->system
			      : f->store != NULL ? f->store
						 : f->greenboot;

	if (gbe_protection_is_off(f, to))
		return true;
	if (f->skipped)
		return say(to, GBE_NOT_PROTECTED, "boot without it",
			   "greenboot-etcd.skip is on the kernel command line: nothing was done "
			   "before etcd started");
	if (gbe_protection_is_elsewhere(f, to))
		return true;
	if (f->data_why != NULL)
		return say(to, GBE_NOT_PROTECTED, "correct data-dir= of [etcd], or the directory",
			   "the data in %s cannot be read: %s", f->data_dir, f->data_why);
	if (f->elsewhere != NULL)
		return say(to, GBE_NOT_PROTECTED,
			   "set data-dir= and wal-dir= of [etcd] to where etcd has its data", "%s",
			   f->elsewhere);
	if (f->partial != NULL)
		return say(to, GBE_NOT_PROTECTED, "`greenboot-etcd preflight`", "%s", f->partial);
	if (finding != NULL) {
		/* A member of a cluster has this without a rollback of the system. */
		if (f->member && f->store == NULL)
			to->covered = "lost data comes back from the other members, and backups "
				      "work";
		return say(to, GBE_NOT_PROTECTED, "`greenboot-etcd preflight`", "%s", finding);
	}
	if (f->data == GBE_NO)
		return say(to, GBE_NOT_PROTECTED, "start etcd, or correct data-dir= of [etcd]",
			   "there is no etcd data in %s", f->data_dir);
	return !f->last_good &&
	       say(to, GBE_NOT_PROTECTED, "`greenboot-etcd backup` takes one (--live or --stop)",
		   "there is no good backup");
}

/* Says @problem and its reason, and the person's task, with the reason again. Always returns true. */
static bool
needs_you(GbeProtection *to, const char *todo, const char *problem, const char *why)
{
	g_autofree char *hint = g_strdup_printf("%s: %s", todo, why);

	return say(to, GBE_NEEDS_YOU, hint, "%s%s", problem, why);
}

/* Facts that are known to be wrong. */
static bool
is_wrong(const GbeProtectionFacts *f, GbeProtection *to)
{
	g_autofree char *todo = NULL;

	if (f->damaged != NULL) {
		todo = g_strdup_printf("look at the manifest of backup %s, or remove it: "
				       "`greenboot-etcd delete --force %s`",
				       f->damaged, f->damaged);
		return say(to, GBE_NEEDS_YOU, todo, "the manifest of backup %s cannot be read",
			   f->damaged);
	}
	if (f->health == GBE_HEALTH_UNHEALTHY)
		return needs_you(to, "mend etcd (`greenboot-etcd health`)",
				 "etcd is not healthy: ", f->health_why);
	if (f->failed != NULL && f->again != NULL)
		todo =
		    g_strdup_printf("restore it (`%s`), or keep the data that is there", f->again);
	if (f->failed != NULL)
		return needs_you(to,
				 todo != NULL ? todo : "see what went wrong (`greenboot-etcd log`)",
				 "", f->failed);
	if (f->periodic != NULL)
		return needs_you(to, "see to the periodic backup", "", f->periodic);
	return f->offsite != NULL && needs_you(to, "see to the store of snapshots", "", f->offsite);
}

void
gbe_protection_judge(const GbeProtectionFacts *f, GbeProtection *to)
{
	g_autofree char *hint = NULL;

	*to = (GbeProtection){.state = GBE_PROTECTED, .certain = true};
	if (f->held != NULL) {
		(void)needs_you(to, "let etcd go, which is held back",
				"etcd is held back: ", f->held);
	} else if (is_not_protected(f, to) || is_wrong(f, to)) {
		return;
	} else if (f->holds) {
		(void)say(to, GBE_NEEDS_YOU,
			  "see why the next start holds etcd back: `greenboot-etcd explain`",
			  "the next start holds etcd back");
	} else if (f->rewinds != NULL) {
		hint = g_strdup_printf("see why the next start puts backup %s in the data's place: "
				       "`greenboot-etcd explain`",
				       f->rewinds);
		(void)say(to, GBE_NEEDS_YOU, hint,
			  "the next start puts backup %s in the data's place", f->rewinds);
	} else {
		/* Unknown facts, and warnings. */
		if (f->health == GBE_HEALTH_CANNOT_TELL) {
			(void)needs_you(to, "find out how etcd is (`greenboot-etcd health`)",
					"etcd's health cannot be told: ", f->health_why);
		} else if (f->warning != NULL) {
			(void)say(to, GBE_NEEDS_YOU, f->warning, "%s", f->warning);
		}
		to->certain = to->state == GBE_PROTECTED;
	}
}
