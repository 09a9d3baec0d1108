/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/supervise.h"

#include <stdio.h>
#include <sys/wait.h>

#include "app/boot/finalize.h"
#include "app/boot/supervise-job.h"
#include "base/error.h"

#define ASK_SECONDS 10

static bool
came_to_its_end(const GbeJobEnd *outcome)
{
	return outcome->ended && WIFEXITED(outcome->status);
}

/* True: the worker ended with one of prerun's two answers. */
static bool
answered(const GbeJobEnd *outcome)
{
	return came_to_its_end(outcome) &&
	       (WEXITSTATUS(outcome->status) == 0 || WEXITSTATUS(outcome->status) == GBE_EXIT_HELD);
}

/* Runs a child that answers in time, else returns GBE_EXIT_HELD and sets @what, newly allocated, to what happened
 * to the child. */
static int
ask_child(const char *program, const char *root, GbeWork work, gpointer data, char **ret_what)
{
	GbeJob job = {.program = program,
		      .root = root,
		      .work = work,
		      .data = data,
		      .total_seconds = ASK_SECONDS};
	GbeJobEnd outcome = {0};
	int status = GBE_EXIT_HELD;

	gbe_job_run(&job, &outcome);
	if (answered(&outcome)) {
		status = WEXITSTATUS(outcome.status);
		g_clear_pointer(&outcome.what, g_free);
	}
	*ret_what = outcome.what;
	return status;
}

static int
map(const char *root, char *happened)
{
	g_autofree char *asked = NULL;
	g_autofree char *shown = NULL;
	int status = ask_child("prerun", root, gbe_supervise_ask, happened, &asked);

	if (asked != NULL)
		(void)fprintf(stderr,
			      "greenboot-etcd-prerun: etcd is held back: the worker %s, and who "
			      "asks whether etcd may start all the same %s\n",
			      happened, asked);
	(void)ask_child("prerun", root, gbe_supervise_show, asked == NULL ? happened : NULL,
			&shown);
	return status;
}

int
gbe_supervise_prerun(const char *root, GbeWork work, gpointer data, guint idle_seconds)
{
	GbeJob job = {.program = "prerun",
		      .root = root,
		      .work = work,
		      .data = data,
		      .idle_seconds = idle_seconds,
		      .notify = root == NULL || g_str_equal(root, "/")};
	GbeJobEnd outcome = {0};
	int status;

	gbe_job_run(&job, &outcome);
	if (answered(&outcome))
		status = WEXITSTATUS(outcome.status);
	else
		status = map(root, outcome.what);
	g_free(outcome.what);
	return status;
}

/* *ret_happened, newly allocated, says why the worker did not finish; NULL: it finished. */
static int
supervise(const GbeJob *job, int on_failure, char **ret_happened)
{
	GbeJobEnd outcome = {0};
	int status = on_failure;

	gbe_job_run(job, &outcome);
	if (came_to_its_end(&outcome) && WEXITSTATUS(outcome.status) != GBE_EXIT_NO_APP) {
		status = WEXITSTATUS(outcome.status);
		g_clear_pointer(&outcome.what, g_free);
	} else {
		(void)fprintf(stderr, "greenboot-etcd-%s: the worker %s\n", job->program,
			      outcome.what);
	}
	*ret_happened = outcome.what;
	return status;
}

int
gbe_supervise_bounded(const char *program, const char *root, GbeWork work, gpointer data,
		      guint seconds, int on_failure)
{
	GbeJob job = {.program = program,
		      .root = root,
		      .work = work,
		      .data = data,
		      .total_seconds = seconds};
	g_autofree char *happened = NULL;

	return supervise(&job, on_failure, &happened);
}

int
gbe_supervise_finalize(const char *root, GbeWork work, gpointer data, guint idle_seconds,
		       guint total_seconds)
{
	GbeJob job = {.program = "finalize",
		      .root = root,
		      .work = work,
		      .data = data,
		      .idle_seconds = idle_seconds,
		      .total_seconds = total_seconds,
		      .notify = root == NULL || g_str_equal(root, "/")};
	g_autofree char *happened = NULL;
	g_autofree char *asked = NULL;
	int status = supervise(&job, 1, &happened);

	if (happened != NULL)
		(void)ask_child("finalize", root, gbe_finalize_carry, happened, &asked);
	return status;
}
