/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/help.h"

#include "cli/print.h"
#include "cli/programs.h"
#include "sys/programs.h"

#define COLUMN 26

static void
print_line(const char *left, const char *right)
{
	glong width = g_utf8_strlen(left, -1);

	if (width > COLUMN - 2)
		gbe_print("  %s\n  %*s%s\n", left, COLUMN, "", right);
	else
		gbe_print("  %s%*s%s\n", left, (int)(COLUMN - width), "", right);
}

static void
print_options(const GOptionEntry *options)
{
	for (const GOptionEntry *option = options; option->long_name != NULL; option++) {
		g_autofree char *left = NULL;

		if (*option->long_name == '\0' || (option->flags & G_OPTION_FLAG_HIDDEN) != 0)
			continue;
		left =
		    g_strdup_printf("%s%.1s%s--%s%s%s", option->short_name != 0 ? "-" : "",
				    &option->short_name, option->short_name != 0 ? ", " : "    ",
				    option->long_name, option->arg_description != NULL ? "=" : "",
				    option->arg_description != NULL ? option->arg_description : "");
		print_line(left, option->description);
	}
}

void
gbe_help_lines(const GbeVerb *verbs)
{
	bool others = false;

	for (const GbeVerb *verb = verbs; verb->name != NULL; verb++) {
		g_autofree char *left = NULL;

		if (verb->alias != NULL ||
		    (verb->optional && gbe_program_find(verb->name, NULL) == GBE_YES))
			continue;
		/* help and version end the list of the command, which alone has them. */
		if (verb->run == NULL && !others) {
			gbe_programs_help();
			others = true;
		}
		if (verb->group != NULL || verb == verbs)
			gbe_print("\n%s:\n", verb->group != NULL ? verb->group : "Verbs");
		left = g_strconcat(verb->name, verb->arguments != NULL ? " " : "", verb->arguments,
				   NULL);
		print_line(left, verb->summary);
	}
}

void
gbe_help_all(const GbeVerb *verbs)
{
	gbe_print("Usage: greenboot-etcd [OPTION...] VERB [ARGUMENT...]\n\n"
		  "Backs up and restores etcd's data together with ostree deployments.\n");
	gbe_help_lines(verbs);
	gbe_print("\nOptions, before or after the verb:\n");
	print_options(gbe_options_global);
	gbe_print("\n`greenboot-etcd VERB --help` shows a verb's own options and an example.\n"
		  "For more details see greenboot-etcd(8).\n");
}

void
gbe_help_verb(const GbeVerb *verb)
{
	gbe_print("Usage: greenboot-etcd [OPTION...] %s%s%s\n\n%s.\n", verb->name,
		  verb->arguments != NULL ? " " : "",
		  verb->arguments != NULL ? verb->arguments : "", verb->summary);
	if (verb->options != NULL) {
		gbe_print("\nOptions:\n");
		print_options(verb->options);
	}
	gbe_print("\nOptions of every verb:\n");
	print_options(gbe_options_global);
	gbe_print("\nExample:\n  greenboot-etcd %s\n\nFor more details see %s.\n", verb->example,
		  verb->page != NULL ? verb->page : "greenboot-etcd(8)");
}
