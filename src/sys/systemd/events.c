/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/systemd/events.h"

#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "base/format.h"
#include "core/deployment.h"
#include "core/shown.h"
#include "sys/systemd/journal.h"

#define PROJECT "greenboot-etcd"
#define MAX_FIELDS 16

typedef enum {
	EVENT_DECIDED,
	EVENT_BACKED_UP,
	EVENT_BACKUP_SKIPPED,
	EVENT_BACKUP_FAILED,
	EVENT_START_FAILED,
	EVENT_RESTORED,
	EVENT_SET_ASIDE,
	EVENT_RESTORE_FAILED,
	EVENT_CANDIDATE_BAD,
	EVENT_RECOVERED,
	EVENT_HELD_BACK,
	EVENT_TOOK_OVER,
	EVENT_VERDICT,
	EVENT_GRADED,
	EVENT_DELETED,
	EVENT_REQUEST_FAILED,
	EVENT_STATE_BROKEN,
	EVENT_CONFIG_BAD,
	EVENT_UNHEALTHY,
	EVENT_HEALTHY,
	EVENT_CANNOT_TELL,
	EVENT_PREFLIGHT,
	EVENT_CARRIED,
	EVENT_CLOSED,
	EVENT_FRESH,
	EVENT_ROTTED,
	EVENT_DEFRAGMENTED,
	EVENT_DEFRAG_FAILED,
	EVENT_ALARM_CLEARED,
	EVENT_CERTS_CHANGED,
	EVENT_REHEARSED,
	EVENT_REHEARSAL_FAILED,
	EVENT_NOT_REHEARSED,
	EVENT_REJOINED,
	EVENT_UPDATE_LOCKED,
	EVENT_UPDATE_FAILED,
} Event;

/* The field that names the event's object. */
typedef enum {
	OBJECT_NONE,
	OBJECT_RULE,
	OBJECT_BACKUP,
	OBJECT_DEPLOYMENT,
	OBJECT_ACTION,
} Object;

/* The ids never change, because people's filters use them. Each has an entry in data/greenboot-etcd.catalog. */
static const struct {
	const char *id;
	int priority;
	const char *lead;
	Object object;
} events[] = {
    /* clang-format off */
	[EVENT_DECIDED] = {"20b47cf33f3d45779905a3ff6aee4cf9", LOG_INFO, "Decided by rule", OBJECT_RULE},
	[EVENT_BACKED_UP] = {"c9caffff71cc4e9c8e118ecb174bd4c9", LOG_INFO, "Backed up the data of etcd as", OBJECT_BACKUP},
	[EVENT_BACKUP_SKIPPED] = {"888acdb4eea849ef9ebe0a5868ab65ac", LOG_INFO, "No backup of the data of etcd was taken", OBJECT_NONE},
	[EVENT_BACKUP_FAILED] = {"349e14b55e9e433bb48f3d46592d2543", LOG_ERR, "The data of etcd could not be backed up", OBJECT_NONE},
	[EVENT_START_FAILED] = {"fd248a20310840cea79092d64aea9ff2", LOG_ERR, "It could not be decided what this start needs of the data of etcd", OBJECT_NONE},
	[EVENT_RESTORED] = {"abce6674737a4c728de1ca859f87484c", LOG_NOTICE, "Restored the data of etcd from", OBJECT_BACKUP},
	[EVENT_SET_ASIDE] = {"4d1f0ab2c6e8473f9a5e0b7c21d84f36", LOG_NOTICE, "Set the data of etcd aside as", OBJECT_BACKUP},
	[EVENT_RESTORE_FAILED] = {"e57d9979613f442fb8ffbd88db67bc0c", LOG_ERR, "The data of etcd could not be restored", OBJECT_NONE},
	[EVENT_CANDIDATE_BAD] = {"fe1a13badbac4ff495b94f49ab5fd7c6", LOG_WARNING, "Cannot use the backup", OBJECT_BACKUP},
	[EVENT_RECOVERED] = {"065b655ef5104422a872c36c5393fadd", LOG_NOTICE, "An interrupted operation was cleaned up", OBJECT_NONE},
	[EVENT_HELD_BACK] = {"d31e38cf8f624f29988c1e3cddd15192", LOG_CRIT, "etcd is held back", OBJECT_NONE},
	[EVENT_TOOK_OVER] = {"7b3bf8d86b514db1848f42c23f5f488e", LOG_INFO, "From now on the data of etcd belongs to", OBJECT_DEPLOYMENT},
	[EVENT_VERDICT] = {"be615c252c91448b985c9f452f3c72d8", LOG_NOTICE, "This run of the system was judged", OBJECT_ACTION},
	[EVENT_GRADED] = {"d335a55c279447a7a91aee30cd9d6bf0", LOG_INFO, "A new grade for", OBJECT_BACKUP},
	[EVENT_DELETED] = {"2f66eb1f35bd4a8d8b5ea2026cda1571", LOG_INFO, "Deleted", OBJECT_BACKUP},
	[EVENT_REQUEST_FAILED] = {"8f003286ebf94647be008a0b87f85afd", LOG_ERR, "The requested restore cannot be carried out", OBJECT_NONE},
	[EVENT_STATE_BROKEN] = {"f1fe98b78fa6450bb7b319ede686018b", LOG_WARNING, "A record could not be read", OBJECT_NONE},
	[EVENT_CONFIG_BAD] = {"0e8842f6c8ca469fa69cf33bf44ca66f", LOG_ERR, "The configuration is wrong", OBJECT_NONE},
	[EVENT_UNHEALTHY] = {"1400d3cd33c349e9ad59ec787affdef8", LOG_ERR, "etcd is not healthy", OBJECT_NONE},
	[EVENT_HEALTHY] = {"7e147aabab874a79a030c0c783438dda", LOG_INFO, "etcd is healthy", OBJECT_NONE},
	[EVENT_CANNOT_TELL] = {"760c6c733d154f3ebc2d63156da88531", LOG_WARNING, "Cannot tell whether etcd is healthy", OBJECT_NONE},
	[EVENT_PREFLIGHT] = {"fb694ddc87034b778c3d4bb34f5b7e05", LOG_WARNING, "An upgrade would not go well now", OBJECT_NONE},
	[EVENT_CARRIED] = {"f534d006c13f4c289cc04445c4d048c7", LOG_WARNING, "Something failed at the last shutdown", OBJECT_NONE},
	[EVENT_CLOSED] = {"edf09f59b37d4175865be86a4c0a2303", LOG_INFO, "The data of etcd was closed for the shutdown", OBJECT_NONE},
	[EVENT_FRESH] = {"0b47095073be47a897d310c14849ef49", LOG_NOTICE, "etcd starts anew", OBJECT_NONE},
	[EVENT_ROTTED] = {"8489eb96d8474319b42e7ab727b1826e", LOG_ERR, "A backup has rotted:", OBJECT_BACKUP},
	[EVENT_DEFRAGMENTED] = {"a1913de4693242ce85546a2d1867c56f", LOG_INFO, "etcd's database was defragmented", OBJECT_NONE},
	[EVENT_DEFRAG_FAILED] = {"d5dccea1739145d785536840a28374ea", LOG_WARNING, "etcd's database could not be defragmented", OBJECT_NONE},
	[EVENT_ALARM_CLEARED] = {"3e51eb081cef46eb8520d0bc640142dc", LOG_NOTICE, "etcd takes writes again", OBJECT_NONE},
	[EVENT_CERTS_CHANGED] = {"f221c0405e7d4b6f904d3fd6562acc84", LOG_NOTICE, "Certificates were changed", OBJECT_NONE},
	[EVENT_REHEARSED] = {"6d0f4b0bb1f34c2c8b6a6d4b8a5e27d1", LOG_INFO, "The etcd of the update works on today's data:", OBJECT_DEPLOYMENT},
	[EVENT_REHEARSAL_FAILED] = {"0a4c5a3e9b7d4ec4a6b1f0c2d93e58f7", LOG_ERR, "The etcd of the update does not work on today's data:", OBJECT_DEPLOYMENT},
	[EVENT_NOT_REHEARSED] = {"b92f8d15c6a74f0e9c3d7e1a604b2c58", LOG_NOTICE, "The update could not be rehearsed:", OBJECT_DEPLOYMENT},
	[EVENT_REJOINED] = {"52be07d9c3a14e6f8d20b9a4716c5f3e", LOG_WARNING, "This device is a member of its cluster again, with data from the others", OBJECT_NONE},
	[EVENT_UPDATE_LOCKED] = {"3f8e52c1a7d94b06b1e4c7590d2a6f83", LOG_NOTICE, "The update lock of the cluster", OBJECT_NONE},
	[EVENT_UPDATE_FAILED] = {"c58a07e94d3b4f21a6f0829bd17e3c64", LOG_ERR, "The update failed, and the other members wait:", OBJECT_DEPLOYMENT},
    /* clang-format on */
};

static struct {
	const char *program;
	bool below_root;
	bool quiet;
	int verbosity;
	int prefix; /* -1: none */
} settings = {.program = NULL, .prefix = -1};

void
gbe_events_init(const char *program, bool below_root, bool quiet, int verbosity)
{
	settings.program = strcmp(program, PROJECT) == 0 ? NULL : program;
	settings.below_root = below_root;
	settings.quiet = quiet;
	settings.verbosity = verbosity;
	settings.prefix = -1;
}

void
gbe_events_set_prefix(int level)
{
	/* "<0>" would be broadcast to every terminal of the machine. */
	settings.prefix = level >= LOG_ALERT && level <= LOG_DEBUG ? level : -1;
}

static char *
identifier(void)
{
	return settings.program == NULL ? g_strdup(PROJECT)
					: g_strdup_printf(PROJECT "-%s", settings.program);
}

static void
write_line(const char *text)
{
	g_autofree char *line = gbe_shown_line(text);
	g_autofree char *name = identifier();

	if (settings.prefix >= 0)
		(void)fprintf(stderr, "<%d>%s: %s\n", settings.prefix, name, line);
	else
		(void)fprintf(stderr, "%s: %s\n", name, line);
}

static const char *
object_of(Event event, const GbeEventFields *fields)
{
	switch (events[event].object) {
	case OBJECT_RULE:
		return fields->rule;
	case OBJECT_BACKUP:
		return fields->backup;
	case OBJECT_DEPLOYMENT:
		return fields->deployment;
	case OBJECT_ACTION:
		return fields->action;
	case OBJECT_NONE:
		break;
	}
	return NULL;
}

static char *
message_of(Event event, const GbeEventFields *fields)
{
	GString *text = g_string_new(events[event].lead);
	const char *object = object_of(event, fields);
	g_autofree char *brief = NULL;

	if (events[event].object == OBJECT_DEPLOYMENT && object != NULL)
		object = brief = gbe_deployment_id_short(object);
	if (event == EVENT_TOOK_OVER && object == NULL)
		object = "a deployment that is not known";
	if (object != NULL && *object != '\0')
		g_string_append_printf(text, " %s", object);
	if (fields->reason != NULL && *fields->reason != '\0')
		g_string_append_printf(text, ": %s", fields->reason);
	if (fields->displaced != NULL)
		g_string_append(text, " (greenboot-etcd undo puts back what was displaced)");
	return g_string_free(text, false);
}

/* A red verdict needs attention; a green one is the normal case. */
static int
priority_of(Event event, const GbeEventFields *fields)
{
	if (event == EVENT_VERDICT && g_strcmp0(fields->action, "red") == 0)
		return LOG_WARNING;
	return events[event].priority;
}

static void
add_field(GPtrArray *lines, const char *key, const char *value)
{
	g_autofree char *line = value != NULL ? gbe_shown_text(value) : NULL;

	if (line != NULL)
		g_ptr_array_add(lines, g_strdup_printf("%s=%s", key, line));
}

static bool
send_to_journal(Event event, int priority, const char *message, const GbeEventFields *fields)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *level = g_strdup_printf("%d", priority);
	g_autofree char *name = identifier();
	struct iovec iov[MAX_FIELDS];

	add_field(lines, "MESSAGE", message);
	add_field(lines, "MESSAGE_ID", events[event].id);
	add_field(lines, "PRIORITY", level);
	add_field(lines, "SYSLOG_IDENTIFIER", name);
	add_field(lines, "GREENBOOT_ETCD_RULE", fields->rule);
	add_field(lines, "GREENBOOT_ETCD_ACTION", fields->action);
	add_field(lines, "GREENBOOT_ETCD_BACKUP", fields->backup);
	add_field(lines, "GREENBOOT_ETCD_DEPLOYMENT", fields->deployment);
	add_field(lines, "GREENBOOT_ETCD_FROM_DEPLOYMENT", fields->from_deployment);
	add_field(lines, "GREENBOOT_ETCD_RUN", fields->run);
	add_field(lines, "GREENBOOT_ETCD_REVISION", fields->revision);
	add_field(lines, "GREENBOOT_ETCD_REASON", fields->reason);
	if (fields->duration_usec > 0)
		g_ptr_array_add(lines,
				g_strdup_printf("GREENBOOT_ETCD_DURATION_USEC=%" G_GINT64_FORMAT,
						fields->duration_usec));
	g_assert(lines->len <= G_N_ELEMENTS(iov));
	for (guint i = 0; i < lines->len; i++)
		iov[i] = (struct iovec){lines->pdata[i], strlen(lines->pdata[i])};
	return gbe_journal_send(iov, lines->len);
}

/* A line that cannot be sent to the journal goes to stderr. With a prefix, greenboot collects the lines from
 * stderr. */
static void
emit(Event event, const GbeEventFields *fields)
{
	static const GbeEventFields none = {NULL};
	const GbeEventFields *known = fields != NULL ? fields : &none;
	g_autofree char *message = message_of(event, known);
	int priority = priority_of(event, known);
	bool sent = !settings.below_root && send_to_journal(event, priority, message, known);

	if (sent && settings.prefix < 0)
		return;
	if (!settings.quiet || priority <= LOG_ERR)
		write_line(message);
}

void
gbe_note(const char *format, ...)
{
	g_autofree char *text = NULL;

	if (settings.quiet || settings.verbosity < 1)
		return;
	text = GBE_VFORMAT(format);
	write_line(text);
}

void
gbe_complain(const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	write_line(text);
}

#define DEFINE_EVENT(name, event)                                                                  \
	void gbe_event_##name(const GbeEventFields *fields)                                        \
	{                                                                                          \
		emit(event, fields);                                                               \
	}

DEFINE_EVENT(decided, EVENT_DECIDED)
DEFINE_EVENT(backed_up, EVENT_BACKED_UP)
DEFINE_EVENT(backup_skipped, EVENT_BACKUP_SKIPPED)
DEFINE_EVENT(backup_failed, EVENT_BACKUP_FAILED)
DEFINE_EVENT(start_failed, EVENT_START_FAILED)
DEFINE_EVENT(restored, EVENT_RESTORED)
DEFINE_EVENT(set_aside, EVENT_SET_ASIDE)
DEFINE_EVENT(restore_failed, EVENT_RESTORE_FAILED)
DEFINE_EVENT(candidate_bad, EVENT_CANDIDATE_BAD)
DEFINE_EVENT(recovered, EVENT_RECOVERED)
DEFINE_EVENT(held_back, EVENT_HELD_BACK)
DEFINE_EVENT(took_over, EVENT_TOOK_OVER)
DEFINE_EVENT(verdict, EVENT_VERDICT)
DEFINE_EVENT(graded, EVENT_GRADED)
DEFINE_EVENT(deleted, EVENT_DELETED)
DEFINE_EVENT(request_failed, EVENT_REQUEST_FAILED)
DEFINE_EVENT(state_broken, EVENT_STATE_BROKEN)
DEFINE_EVENT(config_bad, EVENT_CONFIG_BAD)
DEFINE_EVENT(unhealthy, EVENT_UNHEALTHY)
DEFINE_EVENT(healthy, EVENT_HEALTHY)
DEFINE_EVENT(cannot_tell, EVENT_CANNOT_TELL)
DEFINE_EVENT(preflight, EVENT_PREFLIGHT)
DEFINE_EVENT(carried, EVENT_CARRIED)
DEFINE_EVENT(closed, EVENT_CLOSED)
DEFINE_EVENT(fresh, EVENT_FRESH)
DEFINE_EVENT(rotted, EVENT_ROTTED)
DEFINE_EVENT(defragmented, EVENT_DEFRAGMENTED)
DEFINE_EVENT(defrag_failed, EVENT_DEFRAG_FAILED)
DEFINE_EVENT(alarm_cleared, EVENT_ALARM_CLEARED)
DEFINE_EVENT(certs_changed, EVENT_CERTS_CHANGED)
DEFINE_EVENT(rehearsed, EVENT_REHEARSED)
DEFINE_EVENT(rehearsal_failed, EVENT_REHEARSAL_FAILED)
DEFINE_EVENT(not_rehearsed, EVENT_NOT_REHEARSED)
DEFINE_EVENT(rejoined, EVENT_REJOINED)
DEFINE_EVENT(update_locked, EVENT_UPDATE_LOCKED)
DEFINE_EVENT(update_failed, EVENT_UPDATE_FAILED)
