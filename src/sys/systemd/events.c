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

/* The field that names the event's object. */
typedef enum {
	OBJECT_NONE,
	OBJECT_RULE,
	OBJECT_BACKUP,
	OBJECT_DEPLOYMENT,
	OBJECT_OWNER, /* a deployment, also one that is not known */
	OBJECT_ACTION,
} Object;

typedef struct {
	const char *id, *lead;
	int priority;
	Object object;
} Event;

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
syslog_identifier(void)
{
	return settings.program == NULL ? g_strdup(PROJECT)
					: g_strdup_printf(PROJECT "-%s", settings.program);
}

static void
write_line(const char *text)
{
	g_autofree char *line = gbe_shown_line(text);
	g_autofree char *name = syslog_identifier();

	if (settings.prefix >= 0)
		(void)fprintf(stderr, "<%d>%s: %s\n", settings.prefix, name, line);
	else
		(void)fprintf(stderr, "%s: %s\n", name, line);
}

static char *
message_of(const Event *event, const GbeEventFields *fields)
{
	GString *text = g_string_new(event->lead);
	const char *object = NULL;
	g_autofree char *brief = NULL;

	switch (event->object) {
	case OBJECT_RULE:
		object = fields->rule;
		break;
	case OBJECT_BACKUP:
		object = fields->backup;
		break;
	case OBJECT_DEPLOYMENT:
	case OBJECT_OWNER:
		if (fields->deployment != NULL)
			object = brief = gbe_deployment_id_short(fields->deployment);
		else if (event->object == OBJECT_OWNER)
			object = "a deployment that is not known";
		break;
	case OBJECT_ACTION:
		object = fields->action;
		break;
	case OBJECT_NONE:
		break;
	}
	if (object != NULL && *object != '\0')
		g_string_append_printf(text, " %s", object);
	if (fields->reason != NULL && *fields->reason != '\0')
		g_string_append_printf(text, ": %s", fields->reason);
	if (fields->displaced != NULL)
		g_string_append(text,
				" (`greenboot-etcd undo --stop` puts the replaced data back)");
	return g_string_free(text, false);
}

static void
add_field(GPtrArray *lines, const char *key, const char *value)
{
	g_autofree char *line = value != NULL ? gbe_shown_text(value) : NULL;

	if (line != NULL)
		g_ptr_array_add(lines, g_strdup_printf("%s=%s", key, line));
}

static bool
send_to_journal(const Event *event, int priority, const char *message, const GbeEventFields *fields)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *level = g_strdup_printf("%d", priority);
	g_autofree char *name = syslog_identifier();
	struct iovec iov[MAX_FIELDS];

	add_field(lines, "MESSAGE", message);
	add_field(lines, "MESSAGE_ID", event->id);
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
emit_event(const Event *event, const GbeEventFields *fields)
{
	static const GbeEventFields none = {NULL};
	const GbeEventFields *known = fields != NULL ? fields : &none;
	g_autofree char *message = message_of(event, known);
	/* A red verdict needs attention; a green one is the normal case. */
	bool red = event->object == OBJECT_ACTION && g_strcmp0(known->action, "red") == 0;
	int priority = red ? LOG_WARNING : event->priority;
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

#define DEFINE_EVENT(name, message_id, level, what, text)                                          \
	void gbe_event_##name(const GbeEventFields *fields)                                        \
	{                                                                                          \
		static const Event event = {.id = (message_id),                                    \
					    .lead = (text),                                        \
					    .priority = (level),                                   \
					    .object = (what)};                                     \
                                                                                                   \
		emit_event(&event, fields);                                                        \
	}
GBE_EVENTS(DEFINE_EVENT)
