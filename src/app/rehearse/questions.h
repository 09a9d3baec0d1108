/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The questions to the etcd on the clone. */
#pragma once

#include "app/run/etcd-copy.h"
#include "etcd/directory/directory.h"

typedef struct {
	GbeEtcdCopy *copy;
	const GbeDirectory *before; /* the clone, before any etcd had it */
	char *version;		    /* as etcd said it; NULL before the first round */
	gint64 revision;	    /* as etcd said it last */
	bool refused;		    /* etcd asked for a user, and was not asked everything */
} GbeQuestions;

/* Waits until etcd is ready, and asks: leader, member, cluster, revision, HashKV. A later round has to give what an
 * earlier one did. @write: also puts, gets and deletes a key of its own. GBE_ERROR_VERIFY_FAILED: etcd ended, hangs, or
 * gives a wrong answer. A refusal for lack of a user is no fault of the update's etcd: ->refused. */
bool gbe_questions_ask(GbeQuestions *questions, const GbeWalledWait *wait, bool write,
		       GError **error) GBE_CHECKED;
/* After ->refused: compares the files that etcd left with the data: the same keys, and no older revision. */
bool gbe_questions_check_files(const GbeQuestions *questions, const GbeDirectory *after,
			       GError **error) GBE_CHECKED;
