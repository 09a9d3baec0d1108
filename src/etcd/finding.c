/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/finding.h"

#include <stdbool.h>
#include <string.h>

#include "base/format.h"

/* Advice by code; for other codes the severity is enough. */
static const struct {
	const char *code, *advice;
} advices[] = {
    {"bbolt-unknown-format", "look at it with the etcd that wrote it"},
    {"bbolt-byte-swapped",
     "a machine of the other byte order wrote this file: restore it there, and move "
     "the data with `etcdctl snapshot save` and `etcdctl snapshot restore`"},
    {"wal-torn", "nothing: etcd cuts the unfinished record off when it starts"},
    {"wal-tail", "nothing: etcd clears the bytes after the log's end when it starts"},
    {"wal-unknown-format", "look at it with the etcd that wrote it"},
    {"snap-broken-left", "nothing: etcd put it aside and continued without it"},
    {"snap-skipped", "nothing: etcd starts from an older one and the log"},
    {"snap-unknown-format", "look at it with the etcd that wrote it"},
    {"member-leftover", "nothing: etcd removes or ignores it"},
    {"member-db-ahead-of-wal", "do not start etcd on it: it would say that it is healthy and no "
			       "write would ever end; restore "
			       "a backup that verifies"},
    {"member-not-etcd", "check [etcd] data-dir= and member-dir="},
    {"member-commit-behind", "nothing: the log has what the state record lacks"},
};

static const char *const by_severity[] = {
    [GBE_FINDING_NOTE] = "nothing",
    [GBE_FINDING_WARNING] = "nothing at once; etcd starts on it",
    [GBE_FINDING_DAMAGE] =
	("do not start etcd on it; restore a backup that verifies (`greenboot-etcd "
	 "restore --last-good`)"),
    [GBE_FINDING_UNKNOWN] =
	"look at it with a newer greenboot-etcd, or with the etcd that wrote it",
};

static void
finding_free(GbeFinding *finding)
{
	g_free(finding->file);
	g_free(finding->what);
	g_free(finding);
}

/* Damage ranks above "unknown": see gbe_findings_worst(). */
static guint
rank(GbeSeverity severity)
{
	static const guint8 ranks[] = {
	    [GBE_FINDING_NOTE] = 0,
	    [GBE_FINDING_WARNING] = 1,
	    [GBE_FINDING_UNKNOWN] = 2,
	    [GBE_FINDING_DAMAGE] = 3,
	};

	return ranks[severity];
}

static const GbeFinding *
finding_at(const GPtrArray *items, guint i)
{
	return g_ptr_array_index(items, i);
}

void
gbe_findings_init(GbeFindings *findings)
{
	*findings = (GbeFindings){
	    .items = g_ptr_array_new_with_free_func((GDestroyNotify)finding_free),
	    .worst = GBE_FINDING_NOTE,
	};
}

void
gbe_findings_clear(GbeFindings *findings)
{
	g_clear_pointer(&findings->items, g_ptr_array_unref);
	findings->dropped = 0;
	findings->worst = GBE_FINDING_NOTE;
}

void
gbe_findings_add(GbeFindings *findings, GbeSeverity severity, const char *code, const char *file,
		 GbePlace place, guint64 at, GbeTri etcd_notices, GbeTri loses_data,
		 const char *format, ...)
{
	GPtrArray *items = findings->items;
	GbeFinding *finding;
	guint least = 0;

	if (rank(severity) > rank(findings->worst))
		findings->worst = severity;
	/* Makes room: drops the last of the least severe findings if that is less severe than this one. */
	if (items->len >= GBE_FINDINGS_MAX) {
		findings->dropped++;
		for (guint i = 1; i < items->len; i++)
			if (rank(finding_at(items, i)->severity) <=
			    rank(finding_at(items, least)->severity))
				least = i;
		if (rank(finding_at(items, least)->severity) >= rank(severity))
			return;
		g_ptr_array_remove_index(items, least);
	}
	finding = g_new(GbeFinding, 1);
	*finding = (GbeFinding){
	    .severity = severity,
	    .code = code,
	    .file = g_strdup(file),
	    .place = place,
	    .at = at,
	    .etcd_notices = etcd_notices,
	    .loses_data = loses_data,
	    .what = GBE_VFORMAT(format),
	};
	g_ptr_array_add(items, finding);
}

GbeSeverity
gbe_findings_worst(const GbeFindings *findings)
{
	return findings->worst;
}

const GbeFinding *
gbe_findings_first(const GbeFindings *findings)
{
	for (guint i = 0; i < findings->items->len; i++)
		if (finding_at(findings->items, i)->severity == findings->worst)
			return finding_at(findings->items, i);
	return NULL;
}

const char *
gbe_finding_advice(const GbeFinding *finding)
{
	for (gsize i = 0; i < G_N_ELEMENTS(advices); i++)
		if (g_str_equal(finding->code, advices[i].code))
			return advices[i].advice;
	return by_severity[finding->severity];
}

char *
gbe_finding_to_text(const GbeFinding *finding)
{
	static const char *const places[] = {
	    [GBE_PLACE_OFFSET] = "byte",
	    [GBE_PLACE_PAGE] = "page",
	    [GBE_PLACE_RECORD] = "record at byte",
	    [GBE_PLACE_ROW] = "revision",
	};

	if (finding->place == GBE_PLACE_FILE)
		return g_strdup_printf("%s: %s", finding->file, finding->what);
	return g_strdup_printf("%s, %s %" G_GUINT64_FORMAT ": %s", finding->file,
			       places[finding->place], finding->at, finding->what);
}

const char *
gbe_severity_to_string(GbeSeverity severity)
{
	static const char *const names[] = {
	    [GBE_FINDING_NOTE] = "note",
	    [GBE_FINDING_WARNING] = "warning",
	    [GBE_FINDING_DAMAGE] = "damage",
	    [GBE_FINDING_UNKNOWN] = "unknown",
	};

	return names[severity];
}

const char *
gbe_place_to_string(GbePlace place)
{
	static const char *const names[] = {
	    [GBE_PLACE_FILE] = "file",	   [GBE_PLACE_OFFSET] = "offset", [GBE_PLACE_PAGE] = "page",
	    [GBE_PLACE_RECORD] = "record", [GBE_PLACE_ROW] = "row",
	};

	return names[place];
}
