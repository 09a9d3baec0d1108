/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* greenboot-etcd-generator, see systemd.generator(7): ties the units to the configured service. */
#include "app/boot/boot.h"
#include "base/error.h"

#include <stdio.h>

/* There is no journal yet; without /dev/kmsg (a container, a test) stderr has to do. */
static void
complain(const char *message, bool below_root)
{
	FILE *kmsg = below_root ? NULL : fopen("/dev/kmsg", "we");

	(void)fprintf(kmsg != NULL ? kmsg : stderr, "<4>greenboot-etcd-generator: %s\n", message);
	if (kmsg != NULL)
		(void)fclose(kmsg);
}

int
main(int argc, char **argv)
{
	g_autofree char *root = NULL;
	g_autofree char *config = NULL;
	GOptionEntry entries[] = {
	    {"root", 0, 0, G_OPTION_ARG_FILENAME, &root, "Every path but the output lies below DIR",
	     "DIR"},
	    {"config", 0, 0, G_OPTION_ARG_FILENAME, &config, "Read this file alone", "FILE"},
	    {NULL},
	};
	g_autoptr(GOptionContext) context = g_option_context_new("NORMAL-DIR [EARLY-DIR LATE-DIR]");
	g_autoptr(GbeApp) app = NULL;
	g_autofree char *complaint = NULL;
	g_autoptr(GError) error = NULL;

	g_option_context_set_summary(context,
				     "Writes, below NORMAL-DIR, what systemd has to know of the "
				     "configuration:\nthe configured service needs "
				     "greenboot-etcd-prerun.service.");
	g_option_context_add_main_entries(context, entries, NULL);
	if (!g_option_context_parse(context, &argc, &argv, &error) || argc < 2 || argc > 4) {
		complain(error != NULL ? error->message : "name the output directory (see --help)",
			 true);
		return GBE_EXIT_USAGE;
	}
	if (gbe_app_new("generator", root, &app, &error)) {
		app->config_file = g_steal_pointer(&config);
		(void)!gbe_generate(app, argv[1], &complaint, &error);
	}
	if (error != NULL) {
		complain(error->message, root != NULL);
		return GBE_EXIT_FAILED;
	}
	if (complaint != NULL)
		complain(complaint, app->below_root);
	return 0;
}
