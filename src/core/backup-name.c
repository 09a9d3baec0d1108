/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/backup-name.h"

#include "core/deployment.h"

#include <string.h>

#define BOOT_ID_LEN 32
#define MANUAL_MAX 200
#define ADOPTED "adopted-"
/* As much of a run id, and of a name that a person gave, is shown at least. */
#define SHORT_RUN 8
#define SHORT_NAME 24
/* Numbers in names stay below 2^53, like all numbers in the project's files. */
#define NUMBER_MAX ((G_GUINT64_CONSTANT(1) << 53) - 1)

/* Accepts one spelling of a number of at least @min: decimal, no sign, no leading zero. */
static bool
number_parse(const char *text, guint64 min, guint64 *ret_value)
{
	return text[0] != '0' &&
	       g_ascii_string_to_unsigned(text, 10, min, NUMBER_MAX, ret_value, NULL);
}

bool
gbe_run_id_valid(const char *run)
{
	guint64 soft_reboots;

	if (run == NULL || strspn(run, "0123456789abcdef") < BOOT_ID_LEN)
		return false;
	if (run[BOOT_ID_LEN] == '\0')
		return true;
	return run[BOOT_ID_LEN] == '+' && number_parse(run + BOOT_ID_LEN + 1, 1, &soft_reboots);
}

static bool
automatic_parse(const char *name, char **ret_deployment, char **ret_run, guint64 *ret_ordinal)
{
	g_autofree char *text = g_strdup(name);
	char *tilde = strrchr(text, '~');
	guint64 ordinal = 1;
	char *bar;

	/* A stateroot may also hold a tilde: only a tilde after the run begins the ordinal. */
	bar = strrchr(text, '_');
	if (bar == NULL)
		return false;
	if (tilde != NULL && tilde > bar) {
		if (!number_parse(tilde + 1, 2, &ordinal))
			return false;
		*tilde = '\0';
	}
	*bar = '\0';
	if (!gbe_run_id_valid(bar + 1) || !gbe_deployment_id_parse(text, NULL, NULL, NULL))
		return false;
	if (ret_deployment != NULL)
		*ret_deployment = g_strdup(text);
	if (ret_run != NULL)
		*ret_run = g_strdup(bar + 1);
	if (ret_ordinal != NULL)
		*ret_ordinal = ordinal;
	return true;
}

/* "adopted-" and only digits, even where this program would not write that number. */
static bool
is_adopted_shaped(const char *name)
{
	const char *digits = name + strlen(ADOPTED);

	return g_str_has_prefix(name, ADOPTED) && digits[0] != '\0' &&
	       strspn(digits, "0123456789") == strlen(digits);
}

GbeNameKind
gbe_backup_name_parse(const char *name, char **ret_deployment, char **ret_run,
		      guint64 *ret_ordinal_or_sequence)
{
	guint64 sequence;

	if (name == NULL)
		return GBE_NAME_INVALID;
	if (automatic_parse(name, ret_deployment, ret_run, ret_ordinal_or_sequence))
		return GBE_NAME_AUTOMATIC;
	if (is_adopted_shaped(name)) {
		if (!number_parse(name + strlen(ADOPTED), 1, &sequence))
			return GBE_NAME_INVALID;
		if (ret_ordinal_or_sequence != NULL)
			*ret_ordinal_or_sequence = sequence;
		return GBE_NAME_ADOPTED;
	}
	return gbe_backup_name_check_manual(name, NULL) ? GBE_NAME_MANUAL : GBE_NAME_INVALID;
}

bool
gbe_backup_name_check(const char *name, GError **error)
{
	g_autofree char *shown = g_strescape(name, NULL);

	return gbe_backup_name_parse(name, NULL, NULL, NULL) != GBE_NAME_INVALID ||
	       gbe_throw(error, GBE_ERROR_USAGE, "\"%s\" is not a name that a backup can have",
			 shown);
}

char *
gbe_backup_name_format(const char *deployment, const char *run, guint64 ordinal)
{
	if (ordinal <= 1)
		return g_strdup_printf("%s_%s", deployment, run);
	return g_strdup_printf("%s_%s~%" G_GUINT64_FORMAT, deployment, run, ordinal);
}

char *
gbe_backup_name_adopted(guint64 sequence)
{
	return g_strdup_printf(ADOPTED "%" G_GUINT64_FORMAT, sequence);
}

/* Words that choose a backup by another rule, where a name is expected. */
static bool
is_reserved(const char *text)
{
	return g_str_equal(text, "last-good") || g_str_equal(text, "undo");
}

bool
gbe_backup_name_check_manual(const char *name, GError **error)
{
	g_autofree char *shown = g_strescape(name, NULL);
	gsize len = strlen(name);

	if (len == 0)
		return gbe_throw(error, GBE_ERROR_USAGE, "the name of a backup cannot be empty");
	if (len > MANUAL_MAX)
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "backup name \"%.20s…\": %" G_GSIZE_FORMAT
				 " bytes long, %d are allowed",
				 shown, len, MANUAL_MAX);
	if (name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-")] != '\0')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "backup name \"%s\": only A-Z a-z 0-9 . _ + - are allowed", shown);
	if (name[0] == '.' || name[0] == '-')
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "backup name \"%s\": cannot start with \"%c\"", shown, name[0]);
	if (is_reserved(name))
		return gbe_throw(error, GBE_ERROR_USAGE,
				 "backup name \"%s\": has a meaning of its own, choose another one",
				 shown);
	if (is_adopted_shaped(name) || automatic_parse(name, NULL, NULL, NULL))
		return gbe_throw(
		    error, GBE_ERROR_USAGE,
		    "backup name \"%s\": looks like one that the program itself gives, "
		    "choose another one",
		    shown);
	return true;
}

/* Is @text the beginning of the run id or of the checksum? "~K" chooses one backup of a run. */
static bool
begins_part(const char *text, const char *name)
{
	const char *tilde = strchr(text, '~'), *checksum = NULL;
	g_autofree char *beginning = tilde != NULL ? g_strndup(text, (gsize)(tilde - text)) : NULL;
	g_autofree char *deployment = NULL, *run = NULL;
	guint64 ordinal = 0, wanted = 0;

	if (gbe_backup_name_parse(name, &deployment, &run, &ordinal) != GBE_NAME_AUTOMATIC)
		return false;
	if (tilde != NULL)
		return number_parse(tilde + 1, 1, &wanted) && wanted == ordinal &&
		       g_str_has_prefix(run, beginning);
	return g_str_has_prefix(run, text) ||
	       (gbe_deployment_id_parse(deployment, NULL, &checksum, NULL) &&
		strlen(text) <= GBE_CHECKSUM_LEN && g_str_has_prefix(checksum, text));
}

GPtrArray *
gbe_backup_name_match(const char *text, const char *const *names)
{
	GPtrArray *matches = g_ptr_array_new();
	guint64 place = 0;

	if (is_reserved(text) || (text[0] == '@' && !number_parse(text + 1, 1, &place)))
		return matches;
	for (guint i = 0; names[i] != NULL && text[0] != '\0'; i++) {
		if (place == i + 1 || g_str_equal(names[i], text)) {
			g_ptr_array_set_size(matches, 0);
			g_ptr_array_add(matches, (gpointer)names[i]);
			return matches;
		}
		if (place == 0 && (g_str_has_prefix(names[i], text) || begins_part(text, names[i])))
			g_ptr_array_add(matches, (gpointer)names[i]);
	}
	return matches;
}

static bool
means_only(const char *text, const char *name, const char *const *names)
{
	g_autoptr(GPtrArray) matches = gbe_backup_name_match(text, names);

	return matches->len == 1 && g_str_equal(matches->pdata[0], name);
}

char *
gbe_backup_name_short(const char *name, const char *const *names)
{
	g_autofree char *run = NULL;
	guint64 ordinal = 0;
	bool automatic = gbe_backup_name_parse(name, NULL, &run, &ordinal) == GBE_NAME_AUTOMATIC;
	const char *whole = automatic ? run : name;

	for (gsize len = automatic ? SHORT_RUN : SHORT_NAME; len < strlen(whole); len += 4) {
		g_autofree char *text = g_strndup(whole, len);
		g_autofree char *one = g_strdup_printf("%s~%" G_GUINT64_FORMAT, text, ordinal);

		if (means_only(text, name, names))
			return g_steal_pointer(&text);
		if (automatic && means_only(one, name, names))
			return g_steal_pointer(&one);
	}
	return g_strdup(name);
}

void
gbe_backup_name_replace(GString *text, const char *name, const char *shown)
{
	gsize length = strlen(name), from = 0;

	for (const char *at; (at = strstr(text->str + from, name)) != NULL;) {
		gsize begin = (gsize)(at - text->str);

		from = begin + length;
		if (g_ascii_isalnum(at[length]) ||
		    (at[length] != '\0' && strchr("~+-_", at[length])))
			continue;
		g_string_erase(text, (gssize)begin, (gssize)length);
		g_string_insert(text, (gssize)begin, shown);
		from = begin + strlen(shown);
	}
}
