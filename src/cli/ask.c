/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/ask.h"

void
gbe_question_clear(GbeCliQuestion *question)
{
	g_clear_pointer(&question->client, gbe_client_close);
	gbe_call_failure_clear(&question->failure);
	gbe_app_endpoint_clear(&question->at);
}

bool
gbe_question_unanswered(const GbeCliQuestion *question, GError **error)
{
	return gbe_throw(error, gbe_call_code(&question->failure, GBE_ERROR_FAILED),
			 "no answer from etcd at %s: %s", question->at.endpoint.shown,
			 question->failure.why);
}

bool
gbe_question_open(const GbeCli *cli, GbeCliQuestion *question, GError **error)
{
	gbe_app_endpoint(cli->app, &question->at);
	question->deadline = gbe_app_deadline(cli->app);
	return gbe_client_open(&question->at.endpoint, &question->client, &question->failure) ||
	       gbe_question_unanswered(question, error);
}

/* Joins the texts with commas. NULL: no texts. */
char *
gbe_texts_to_line(const GPtrArray *texts)
{
	GString *line = g_string_new(NULL);

	for (guint i = 0; texts != NULL && i < texts->len; i++)
		g_string_append_printf(line, "%s%s", i > 0 ? "," : "", (char *)texts->pdata[i]);
	return g_string_free(line, line->len == 0);
}
