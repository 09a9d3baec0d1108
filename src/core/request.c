/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/request.h"

#include "core/backup-name.h"
#include "core/members.h"
#include "core/record.h"

static const char *const kind_words[] = {
    [GBE_REQUEST_NONE] = "none",
    [GBE_REQUEST_RESTORE] = "restore",
    [GBE_REQUEST_LAST_GOOD] = "last-good",
    [GBE_REQUEST_UNDO] = "undo",
};

void
gbe_request_clear(GbeRequest *request)
{
	GbeRequest none = {0};

	g_free(request->name);
	g_free(request->run);
	g_free(request->text);
	*request = none;
}

bool
gbe_request_parse_target(const char *text, GbeRequest *request, GError **error)
{
	GbeRequestKind kind = GBE_REQUEST_RESTORE;

	if (g_str_equal(text, "last-good"))
		kind = GBE_REQUEST_LAST_GOOD;
	else if (g_str_equal(text, "undo"))
		kind = GBE_REQUEST_UNDO;
	else if (gbe_backup_name_parse(text, NULL, NULL, NULL) == GBE_NAME_INVALID) {
		g_autofree char *shown = g_strescape(text, NULL);

		return gbe_throw(error, GBE_ERROR_USAGE,
				 "\"%s\" is not the name of a backup, \"last-good\" or \"undo\" "
				 "(\"greenboot-etcd list\" shows the names)",
				 shown);
	}
	g_free(request->name);
	request->name = kind == GBE_REQUEST_RESTORE ? g_strdup(text) : NULL;
	request->kind = kind;
	return true;
}

static GbeRequestKind
kind_from_string(const char *text)
{
	for (guint i = 0; i < G_N_ELEMENTS(kind_words); i++)
		if (g_strcmp0(text, kind_words[i]) == 0)
			return (GbeRequestKind)i;
	return GBE_REQUEST_NONE;
}

bool
gbe_request_from_json(JsonObject *object, GbeRequest *request, GError **error)
{
	GbeMembers m = {object, "", NULL};
	GbeRequest read = {0};

	gbe_members_need(&m, "request");
	read.kind = kind_from_string(gbe_members_word(&m, "request"));
	if (read.kind == GBE_REQUEST_RESTORE)
		gbe_members_need(&m, "name");
	read.name = gbe_members_string(&m, "name", &gbe_kind_backup);
	read.run = gbe_members_string(&m, "run", &gbe_kind_run);
	read.force = gbe_members_bool(&m, "force");
	read.from_cmdline = gbe_members_bool(&m, "from_cmdline");
	if (!gbe_members_end(&m, "request", error)) {
		gbe_request_clear(&read);
		return false;
	}
	read.text = g_strdup(GBE_NEXT_BOOT);
	gbe_request_clear(request);
	*request = read;
	return true;
}

JsonObject *
gbe_request_to_json(const GbeRequest *request)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "request", kind_words[request->kind]);
	gbe_json_set_string(object, "name", request->name);
	gbe_json_set_string(object, "run", request->run);
	json_object_set_boolean_member(object, "force", request->force);
	json_object_set_boolean_member(object, "from_cmdline", request->from_cmdline);
	return object;
}

void
gbe_last_operation_clear(GbeLastOperation *last)
{
	GbeLastOperation none = {0};

	g_free(last->operation);
	g_free(last->result);
	g_free(last->rule);
	g_free(last->reason);
	g_free(last->backup);
	g_free(last->run);
	*last = none;
}

void
gbe_last_operation_from_json(JsonObject *object, GbeLastOperation *last)
{
	gbe_last_operation_clear(last);
	last->operation = g_strdup(gbe_json_string(object, "operation", NULL));
	last->result = g_strdup(gbe_json_string(object, "result", NULL));
	last->rule = g_strdup(gbe_json_string(object, "rule", NULL));
	last->reason = g_strdup(gbe_json_string(object, "reason", NULL));
	last->backup = g_strdup(gbe_json_string(object, "backup", NULL));
	last->run = g_strdup(gbe_json_string(object, "run", NULL));
	last->started = gbe_json_int(object, "started", 0);
	last->duration_usec = gbe_json_int(object, "duration_usec", 0);
}

JsonObject *
gbe_last_operation_to_json(const GbeLastOperation *last)
{
	JsonObject *object = json_object_new();

	gbe_json_set_string(object, "operation", last->operation);
	gbe_json_set_string(object, "result", last->result);
	gbe_json_set_string(object, "rule", last->rule);
	gbe_json_set_string(object, "reason", last->reason);
	gbe_json_set_string(object, "backup", last->backup);
	gbe_json_set_string(object, "run", last->run);
	json_object_set_int_member(object, "started", last->started);
	json_object_set_int_member(object, "duration_usec", last->duration_usec);
	return object;
}
