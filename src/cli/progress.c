/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/print.h"

#include "core/space.h"

#include <signal.h>
#include <stdio.h>

#define STEP_USEC (G_USEC_PER_SEC / 5)

static volatile sig_atomic_t interrupted;
static const char *doing;
static bool shown; /* the output is a terminal */
static bool drawn; /* the line holds text */
static gint64 said;

static void
interrupt(int signal)
{
	interrupted = signal;
}

void
gbe_progress_begin(const GbeCli *cli, const char *what)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction before, action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};

	/* A signal that was ignored stays ignored: the command was started in the background, or with nohup. A second
	 * signal ends the process at once. */
	for (gsize i = 0; i < G_N_ELEMENTS(signals); i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &action, NULL);
	doing = what;
	shown = !cli->json && !cli->quiet && isatty(STDERR_FILENO);
	said = g_get_monotonic_time();
}

bool
gbe_progress_step(guint64 done, guint64 total, gpointer data)
{
	gint64 now = shown ? g_get_monotonic_time() : 0;
	g_autofree char *have = NULL;
	g_autofree char *all = NULL;

	if (interrupted != 0)
		return false;
	if (!shown || now - said < STEP_USEC)
		return true;
	said = now;
	drawn = true;
	have = gbe_size_to_text(done);
	all = gbe_size_to_text(total);
	if (total > 0)
		(void)fprintf(stderr, "\r\033[K%s %s of %s", doing, have, all);
	else
		(void)fprintf(stderr, "\r\033[K%s %s", doing, have);
	(void)fflush(stderr);
	return true;
}

void
gbe_progress_end(void)
{
	if (drawn)
		(void)fputs("\r\033[K", stderr);
	drawn = false;
}
