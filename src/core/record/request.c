/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/record/request.h"

#include "core/backup-name.h"
#include "core/record/fields.h"

static const char *const kinds[] = {
    [GBE_REQUEST_NONE] = "none",
    [GBE_REQUEST_RESTORE] = "restore",
    [GBE_REQUEST_LAST_GOOD] = "last-good",
    [GBE_REQUEST_UNDO] = "undo",
};
static const GbeWords kind_words = {kinds, G_N_ELEMENTS(kinds), GBE_REQUEST_NONE, GBE_REQUEST_NONE};

static const GbeField request_fields[] = {
    GBE_FIELD_OF(GbeRequest, kind, "request", WORD, &kind_words, GBE_FIELD_NEEDED),
    GBE_FIELD_OF(GbeRequest, name, "name", TEXT, &gbe_kind_backup, 0),
    GBE_FIELD_OF(GbeRequest, run, "run", TEXT, &gbe_kind_run, 0),
    GBE_FIELD(GbeRequest, force, "force", FLAG),
    GBE_FIELD(GbeRequest, from_cmdline, "from_cmdline", FLAG),
    GBE_FIELD(GbeRequest, text, NULL, TEXT),
    {0},
};

static const GbeField last_fields[] = {
    GBE_FIELD(GbeLastOperation, operation, "operation", TEXT),
    GBE_FIELD(GbeLastOperation, result, "result", TEXT),
    GBE_FIELD(GbeLastOperation, rule, "rule", TEXT),
    GBE_FIELD(GbeLastOperation, reason, "reason", TEXT),
    GBE_FIELD(GbeLastOperation, backup, "backup", TEXT),
    GBE_FIELD(GbeLastOperation, run, "run", TEXT),
    GBE_FIELD(GbeLastOperation, started, "started", TIME),
    GBE_FIELD(GbeLastOperation, duration_usec, "duration_usec", TIME),
    {0},
};

void
gbe_request_clear(GbeRequest *request)
{
	gbe_fields_clear(request_fields, request);
	*request = (GbeRequest){0};
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

bool
gbe_request_from_json(JsonObject *object, GbeRequest *request, GError **error)
{
	GbeMembers m = {object, "", NULL};
	GbeRequest read = {0};

	gbe_fields_read(request_fields, &m, &read);
	if (read.kind == GBE_REQUEST_RESTORE)
		gbe_members_need(&m, "name");
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

	gbe_fields_print(request_fields, object, request);
	return object;
}

void
gbe_last_operation_clear(GbeLastOperation *last)
{
	gbe_fields_clear(last_fields, last);
	*last = (GbeLastOperation){0};
}

void
gbe_last_operation_from_json(JsonObject *object, GbeLastOperation *last)
{
	GbeMembers m = {object, "", NULL};

	gbe_last_operation_clear(last);
	gbe_fields_read(last_fields, &m, last);
	g_clear_error(&m.error); /* what can be read is shown */
}

JsonObject *
gbe_last_operation_to_json(const GbeLastOperation *last)
{
	JsonObject *object = json_object_new();

	gbe_fields_print(last_fields, object, last);
	return object;
}
