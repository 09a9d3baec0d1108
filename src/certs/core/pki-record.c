/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/core/pki-record.h"

#include "core/json/parse.h"
#include "core/record/fields.h"

static const char *const rotations[] = {"none", "trusted", "reissued"};
const GbeWords gbe_rotation_words = {rotations, G_N_ELEMENTS(rotations), GBE_ROTATION_NONE,
				     GBE_ROTATION_NONE};

static const GbeField fields[] = {
    GBE_FIELD(GbePkiRecord, sequence, "sequence", SEQUENCE),
    GBE_FIELD(GbePkiRecord, made_by, "made_by", TEXT),
    GBE_FIELD(GbePkiRecord, made_at, "made_at", TIME),
    GBE_FIELD_OF(GbePkiRecord, rotation, "rotation", WORD, &gbe_rotation_words, 0),
    GBE_FIELD(GbePkiRecord, restart, "restart", FLAG),
    GBE_FIELD(GbePkiRecord, was_healthy, "was_healthy", TRI),
    GBE_FIELD_OF(GbePkiRecord, was_taken, "was_taken", FLAG, NULL, GBE_FIELD_LATER),
    {0},
};

void
gbe_pki_record_clear(GbePkiRecord *record)
{
	gbe_fields_clear(fields, record);
}

bool
gbe_pki_record_read(const char *bytes, gsize size, const char *what, GbePkiRecord *ret_record,
		    GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_auto(GbePkiRecord) record = {0};
	GbeMembers m = {0};
	const char *word;

	if (!gbe_record_open(bytes, size, what, &object, error))
		return false;
	m = (GbeMembers){.object = object, .in = ""};
	gbe_fields_init(fields, &record);
	gbe_fields_read(fields, &m, &record);
	word = gbe_members_word(&m, "rotation");
	if (!gbe_members_end(&m, what, error))
		return false;
	/* A program that does not know which authorities are trusted would drop one. */
	if (g_strcmp0(word, gbe_words_get(&gbe_rotation_words, record.rotation)) != 0)
		return gbe_throw(error, GBE_ERROR_CORRUPT,
				 "%s: rotation is %s, which a newer version wrote", what,
				 word != NULL ? word : "missing");
	*ret_record = record;
	record = (GbePkiRecord){0};
	return true;
}

char *
gbe_pki_record_print(const GbePkiRecord *record)
{
	g_autoptr(JsonObject) object = json_object_new();
	g_autofree char *json = NULL;

	gbe_json_set_format(object, GBE_FORMAT, GBE_VERSION);
	gbe_fields_print(fields, object, record);
	json = gbe_json_print_object(object);
	return gbe_record_seal(json);
}
