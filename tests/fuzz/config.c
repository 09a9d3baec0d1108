/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot-etcd.conf of any bytes, strictly and not: what is wrong is named, and changes nothing. */
#include "core/config/config.h"
#include "lib/fuzz.h"

#include <string.h>

static void
add(const char *group, const char *key, const char *value, const char *origin, gpointer data)
{
	g_string_append_printf(data, "%s.%s=%s %s\n", group, key, value,
			       origin != NULL ? origin : "-");
}

static GString *
text_of(const GbeConfig *config)
{
	GString *text = g_string_new(NULL);

	gbe_config_foreach(config, add, text);
	return text;
}

static void
merge(const guint8 *bytes, gsize size, bool strict)
{
	g_autoptr(GbeConfig) config = gbe_config_new();
	g_autoptr(GString) before = text_of(config);
	g_autoptr(GString) after = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) other = NULL;
	g_autofree char *bad = NULL;

	if (gbe_config_merge(config, "fuzz.conf", (const char *)bytes, size, strict, NULL, &bad,
			     &error)) {
		const char *schedules[] = {config->backup.schedule, config->store.schedule,
					   config->store.prove};
		const char *url = config->store.url;

		if (!gbe_config_check(config, &other) && other == NULL)
			fuzz_fail("refused, and no word");
		/* One line of a unit, and nothing else. */
		for (gsize i = 0; i < G_N_ELEMENTS(schedules); i++)
			if (schedules[i] != NULL && strpbrk(schedules[i], "\n\r\\%") != NULL)
				fuzz_fail("\"%s\"", schedules[i]);
		/* It is signed as it stands there, and has no password. */
		if (url != NULL && (strpbrk(url, "@?#% ") != NULL || strstr(url, "/../") != NULL))
			fuzz_fail("\"%s\"", url);
		return;
	}
	after = text_of(config);
	if (error == NULL || !g_string_equal(before, after))
		fuzz_fail("%s\nbecame\n%s", before->str, after->str);
}

int
LLVMFuzzerTestOneInput(const guint8 *bytes, gsize size)
{
	merge(bytes, size, true);
	merge(bytes, size, false);
	return 0;
}
