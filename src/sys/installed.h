/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds out which systems and which optional programs are installed. The systems of core/config/systems.h are looked
 * for in unit files on the disk. So the answer is the same below --root, in an image, for a generator, and while the
 * system runs. */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/config/systems.h"

/* Fills in @ret_installed, to be cleared, and returns how many there are. A masked unit is not there. */
guint gbe_installed_look(int root_fd, GbeInstalled ret_installed[GBE_SYSTEMS_MAX]);
void gbe_installed_clear(GbeInstalled *installed, guint count);
/* Finds an installed application without an etcd to protect, such as k3s with SQLite. *ret_text says where its data is,
 * *ret_hint what a person can do; both static. False: no such application. */
bool gbe_installed_without_etcd(int root_fd, const char **ret_text, const char **ret_hint);

/*
 * Reads the YAML that people write for other programs, with libyaml, which is loaded when it is first needed. The file
 * may come from anybody: its size, its depth and what its aliases stand for are limited.
 */
#define GBE_YAML_MAX (256 * 1024)

/* @path: the keys that lead to the value, joined by "."; each item of a sequence has the path of the sequence. @value:
 * "true" and "false" for all words of YAML 1.1 that mean so (yes, Off), "" for null. */
typedef void (*GbeYamlPut)(const char *path, const char *value, gpointer data);

/* Calls @put for each value of the first document, in order; a merged mapping ("<<") gives its values where it stands.
 * @what is for messages. On failure @put is not called, except after a limit. GBE_ERROR_INVALID_CONFIG names the line;
 * _UNSUPPORTED: libyaml is not installed; _REFUSED: a limit. */
bool gbe_yaml_read(const char *text, gsize size, const char *what, GbeYamlPut put, gpointer data,
		   GError **error) GBE_CHECKED;

/*
 * The optional programs. They lie next to the library of all programs, as greenboot-etcd-VERB: PATH and other variables
 * of the environment do not lead elsewhere. A verb may be a symlink to the program that has it.
 */
#define GBE_PROGRAM_PREFIX "greenboot-etcd-"
/* The name of the library has the version in it (Makefile). */
#define GBE_PROGRAM_LIBRARY "libgreenboot-etcd-"

/* The directory of the library; newly allocated. NULL: the library is part of this program. */
char *gbe_programs_directory(void);
/* Lower-case letters and hyphens, with a letter first. */
bool gbe_program_is_verb(const char *word);
/* GBE_UNKNOWN: the library is part of this program. *ret_path, which may be NULL, is newly allocated; NULL: not found. */
GbeTri gbe_program_find(const char *verb, char **ret_path);
