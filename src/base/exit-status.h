/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The exit codes of all programs (greenboot-etcd(8), EXIT STATUS). */
#pragma once

#include "base/error.h"

typedef enum {
	GBE_EXIT_DONE = 0,	  /* or nothing to do */
	GBE_EXIT_FAILED = 1,	  /* and nothing was changed */
	GBE_EXIT_USAGE = 2,	  /* wrong usage or configuration */
	GBE_EXIT_PARTIAL = 3,	  /* recorded; the next start finishes or undoes it */
	GBE_EXIT_BUSY = 4,	  /* etcd has the data open, or another operation holds the lock */
	GBE_EXIT_REFUSED = 5,	  /* unsafe; the message says what would make it safe */
	GBE_EXIT_HELD = 5,	  /* prerun only: etcd is held back */
	GBE_EXIT_UNHEALTHY = 6,	  /* or verification failed */
	GBE_EXIT_CANNOT_TELL = 7, /* the question has no answer at the moment */
} GbeExitStatus;

/* An error of another domain gives GBE_EXIT_FAILED. */
GbeExitStatus gbe_exit_status_of(const GError *error);
