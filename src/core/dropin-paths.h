/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Settings of a drop-in: the paths that a unit's sandbox shows and lets it write (core/dropin.h says why). */
#pragma once

#include "core/config.h"

/* "SETTING=WORD" */
void gbe_dropin_add_word(GString *text, const char *setting, const char *word);
/* ReadWritePaths= of that very path, where it is there. */
void gbe_dropin_add_path(GString *text, const char *path);
/* The sandbox neither hides @directory nor puts another one in its place. */
void gbe_dropin_add_visible(GString *text, const char *directory);
/* The directory below "/" that it begins with can be written, for renames across it. NULL: nothing. */
void gbe_dropin_add_writable(GString *text, const char *directory);
/* "[Service]", and that of the data, the log and the store. */
void gbe_dropin_add_sandbox(GString *text, const GbeConfig *config);
/* For a program that renames nothing between data and store: the store alone can be written. */
void gbe_dropin_add_store(GString *text, const GbeConfig *config);
/* Certificates can be read, wherever they lie. */
void gbe_dropin_add_certs(GString *text, const char *directories);
