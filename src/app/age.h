/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encryption by age (age-encryption.org), as a child that a stream goes through: in constant memory both ways, each
 * 64 KiB authenticated, and an end that is cut off is seen; CMS, as OpenSSL has it, is read as a whole before
 * the first byte comes out. Whoever has the identity decrypts with the stock tool: `age -d -i FILE`.
 */
#pragma once

#include "app/context.h"
#include "fs/archive.h"

/* @in_fd, in gzip (fs/archive.h), encrypted to the recipients in the file at @recipients, to @out_fd.
 * @progress: of @total bytes of @in_fd. GBE_ERROR_REFUSED: there is no age. */
bool gbe_age_encrypt_gzip(GbeApp *app, const char *recipients, int in_fd, const char *what,
			  int out_fd, guint64 total,
			  bool (*progress)(guint64 done, guint64 total, gpointer data),
			  gpointer data, GError **error) GBE_CHECKED;

/* Starts to decrypt what is in @in_fd from where it stands, with an identity in the file at @identity, calls
 * @read with a descriptor that the plain bytes come from, and waits for the end. GBE_ERROR_VERIFY_FAILED: it is not
 * for that identity, cut off or changed; then whatever @read has had is not to be believed. */
typedef bool (*GbeAgeRead)(int fd, gpointer data, GError **error);
bool gbe_age_decrypt(GbeApp *app, const char *identity, int in_fd, const char *what,
		     GbeAgeRead read, gpointer data, GError **error) GBE_CHECKED;
