/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/fault.h"

#ifdef GBE_FAULTS

#include "base/error.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static GHashTable *passes; /* name -> how often it was passed, in this process */

/* @what: as in GREENBOOT_ETCD_FAULT, or the name of an errno. */
static bool
cause_fault(const char *name, const char *what, GError **error)
{
	static const struct {
		const char *name;
		int value;
	} errnos[] = {
	    {"EIO", EIO},	{"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS},
	    {"EMFILE", EMFILE}, {"EINTR", EINTR},   {"EACCES", EACCES}, {"ENOENT", ENOENT},
	};
	int errsv = EIO;

	if (g_str_equal(what, "kill")) {
		(void)kill(getpid(), SIGKILL);
		return true;
	}
	if (g_str_equal(what, "abort"))
		abort();
	if (g_str_equal(what, "stop")) {
		(void)kill(getpid(), SIGSTOP);
		return false;
	}
	if (g_str_equal(what, "hang"))
		for (;;)
			pause();
	for (gsize i = 0; i < G_N_ELEMENTS(errnos); i++)
		if (g_str_equal(errnos[i].name, what))
			errsv = errnos[i].value;
	gbe_throw_errno(error, errsv, "fault point %s", name);
	return true;
}

bool
gbe_fault_hit(const char *name, GError **error)
{
	const char *wanted = g_getenv("GREENBOOT_ETCD_FAULT");
	g_auto(GStrv) items = NULL;
	guint pass;

	if (passes == NULL)
		passes = g_hash_table_new(g_str_hash, g_str_equal);
	pass = GPOINTER_TO_UINT(g_hash_table_lookup(passes, name)) + 1;
	g_hash_table_insert(passes, (gpointer)name, GUINT_TO_POINTER(pass));
	if (g_getenv("GREENBOOT_ETCD_FAULT_TRACE") != NULL)
		g_printerr("fault-point %s %u\n", name, pass);
	if (wanted == NULL)
		return false;

	items = g_strsplit(wanted, ",", -1);
	for (char **item = items; *item != NULL; item++) {
		char *equals = strchr(*item, '=');
		char *at;
		guint64 at_pass = 1;

		if (equals == NULL)
			continue;
		*equals = '\0';
		at = strchr(*item, '@');
		if (at != NULL) {
			*at = '\0';
			at_pass = g_ascii_strtoull(at + 1, NULL, 10);
		}
		if (g_str_equal(*item, name) && at_pass == pass)
			return cause_fault(name, equals + 1, error);
	}
	return false;
}

#endif
