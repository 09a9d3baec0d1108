/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Encryption by age (age-encryption.org): a child process that a stream goes through, in constant memory both ways.
 * Each 64 KiB are authenticated, and a truncated end is detected. CMS, as OpenSSL writes it, is read as a whole
 * before the first byte comes out. The holder of the identity decrypts with the stock tool: `age -d -i FILE`.
 */
#pragma once

#include "app/device/context.h"
#include "fs/copy/archive.h"

/* Compresses @in_fd with gzip (fs/copy/archive.h), encrypts it to the recipients in the file at @recipients, and
 * writes to @out_fd. @watch sees each compressed piece before it is encrypted, and may end it with an error.
 * GBE_ERROR_REFUSED: age is not installed. */
bool gbe_age_encrypt_gzip(GbeApp *app, const char *recipients, int in_fd, const char *what,
			  int out_fd, GbeArchivePut watch, gpointer data,
			  GError **error) GBE_CHECKED;

/* Decrypts @in_fd from its present offset with an identity in the file at @identity; calls @read with a
 * descriptor that delivers the plain bytes; waits for the end. GBE_ERROR_VERIFY_FAILED: the data is not for that
 * identity, is truncated or was changed; then all that @read received is untrustworthy. */
typedef bool (*GbeAgeRead)(int fd, gpointer data, GError **error);
bool gbe_age_decrypt(GbeApp *app, const char *identity, int in_fd, const char *what,
		     GbeAgeRead read, gpointer data, GError **error) GBE_CHECKED;
