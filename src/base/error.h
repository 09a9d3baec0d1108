/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The one error domain of the project. A code exists only where a caller branches on it or an exit code
 * depends on it (GbeExitStatus). Every other error is GBE_ERROR_FAILED.
 * Every message names its object: a path, a unit, a backup, a key.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum {
	GBE_ERROR_FAILED,	  /* it failed, and nothing was changed */
	GBE_ERROR_USAGE,	  /* wrong arguments */
	GBE_ERROR_INVALID_CONFIG, /* a configuration file is wrong */
	GBE_ERROR_NOT_FOUND,	  /* the named object does not exist, as may be expected */
	GBE_ERROR_CORRUPT,	  /* a file of this program does not have its format */
	GBE_ERROR_UNREADABLE, /* the disk does not return its data: EIO, or a wrong file-system checksum */
	GBE_ERROR_BUSY,	       /* etcd has the data open, or another operation holds the lock */
	GBE_ERROR_NO_SPACE,    /* ENOSPC or EDQUOT, met or foreseen */
	GBE_ERROR_UNSUPPORTED, /* the kernel or the file system lacks the feature */
	GBE_ERROR_UNSAFE_SOURCE, /* a tree holds files that are never copied, or anybody can write to it */
	GBE_ERROR_REFUSED, /* the operation is unsafe; the message says what would make it safe */
	GBE_ERROR_NO_USER, /* etcd asks for a user; the message says what to configure */
	GBE_ERROR_VERIFY_FAILED, /* a copy differs from its source, or a backup is not sound */
	GBE_ERROR_PARTIAL,     /* failed part-way; recorded: the next start finishes or undoes it */
	GBE_ERROR_CANNOT_TELL, /* the question has no answer at the moment */
} GbeErrorCode;

#define GBE_ERROR (gbe_error_quark())
GQuark gbe_error_quark(void);

/* Sets @error from @errsv (an errno value) as "<formatted>: <strerror>". ENOSPC and EDQUOT become
 * GBE_ERROR_NO_SPACE, ENOENT GBE_ERROR_NOT_FOUND, EOPNOTSUPP/ENOSYS GBE_ERROR_UNSUPPORTED, EIO, EUCLEAN and
 * EBADMSG GBE_ERROR_UNREADABLE, the rest GBE_ERROR_FAILED. Always returns false, so that a caller can return it. */
bool gbe_throw_errno(GError **error, int errsv, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Sets @error with @code. Always returns false. */
bool gbe_throw(GError **error, GbeErrorCode code, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Puts "<formatted>: " before the message that @error already has. Always returns false. */
bool gbe_prefix(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Moves *@local to @error. Always returns false. */
bool gbe_pass(GError **error, GError **local);
/* The same, unless *@local is of @code: then it stays where it is. Returns whether it is. */
bool gbe_pass_unless(GError **error, GError **local, GbeErrorCode code);

/* Gives the error that @error already has another @code. The error is of this domain. Always returns false. */
bool gbe_rethrow(GError **error, GbeErrorCode code);
/* The same, only where the present code is @from. */
bool gbe_rethrow_if(GError **error, GbeErrorCode from, GbeErrorCode code);

/* Turns an error of another domain (GIO, libostree, json-glib) into @code of this domain and keeps its
 * message. An error of this domain stays as it is. For use at the border of a library. Returns false. */
bool gbe_convert(GError **error, GbeErrorCode code);

/* The exit codes of all programs (greenboot-etcd(8), EXIT STATUS). */
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
