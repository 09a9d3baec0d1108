/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A question to the configured etcd, and the words of its answer. No root rights are needed. */
#pragma once

#include "app/device/endpoint.h"
#include "cli/verb.h"
#include "etcd/api/client.h"

typedef struct {
	GbeAppEndpoint at;
	GbeClient *client;
	GbeCallFailure failure;
	gint64 deadline;
} GbeCliQuestion;

void gbe_question_clear(GbeCliQuestion *question);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeCliQuestion, gbe_question_clear)
/* The deadline is request-timeout= of [health] from now. */
bool gbe_question_open(const GbeCli *cli, GbeCliQuestion *question, GError **error) GBE_CHECKED;
/* Sets the error of a call that failed. Always returns false. */
bool gbe_question_unanswered(const GbeCliQuestion *question, GError **error);

/* Joined with commas; newly allocated; NULL: no texts. */
char *gbe_texts_to_line(const GPtrArray *texts);
