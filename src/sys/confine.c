/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "fs/open.h"

/* The capabilities for reading the files of etcd's user and writing the nonce among them. */
#define KEPT (1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER)
#define READING ((guint64)LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

static bool
refused(const char *what, GError **error)
{
	return gbe_throw_errno(error, errno, "cannot give up privileges: %s", what);
}

static bool
drop_capabilities(GError **error)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, caps) < 0)
		return refused("capget", error);
	for (guint i = 0; i < G_N_ELEMENTS(caps); i++) {
		caps[i].permitted &= i == 0 ? KEPT : 0;
		caps[i].effective &= caps[i].permitted;
		caps[i].inheritable = 0;
	}
	return syscall(SYS_capset, &header, caps) == 0 || refused("capset", error);
}

/* The rights to execute and to write that this kernel can forbid; 0 without Landlock. */
static guint64
forbidden(void)
{
	long version =
	    syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	/* Landlock's first version has 13 rights; the second and the third add one each. */
	guint rights = version <= 0 ? 0 : 12 + (guint)MIN(version, 3);

	return ((G_GUINT64_CONSTANT(1) << rights) - 1) & ~READING;
}

static bool
allow_below(int rules_fd, guint64 what, int root_fd, const char *directory, GError **error)
{
	struct landlock_path_beneath_attr rule = {.allowed_access =
						      what & ~(guint64)LANDLOCK_ACCESS_FS_EXECUTE};
	g_autofree char *path = g_strdup(directory);
	gbe_autofd int fd = -1;

	while (!gbe_open_in_root(root_fd, path, O_PATH | O_DIRECTORY, &fd, NULL)) {
		g_autofree char *below = g_steal_pointer(&path);

		if (g_str_equal(below, "/"))
			return gbe_throw(error, GBE_ERROR_FAILED, "cannot open the root");
		path = g_path_get_dirname(below);
	}
	rule.parent_fd = fd;
	return syscall(SYS_landlock_add_rule, rules_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ==
		   0 ||
	       refused(path, error);
}

static bool
forbid(int root_fd, const char *const *directories, GError **error)
{
	struct landlock_ruleset_attr rules = {.handled_access_fs = forbidden()};
	gbe_autofd int fd = -1;

	if (rules.handled_access_fs == 0)
		return true;
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	if (fd < 0)
		return refused("landlock", error);
	for (guint i = 0; directories[i] != NULL; i++)
		if (!allow_below(fd, rules.handled_access_fs, root_fd, directories[i], error))
			return false;
	return syscall(SYS_landlock_restrict_self, fd, 0) == 0 || refused("landlock", error);
}

bool
gbe_confine(int root_fd, const char *const *directories, GError **error)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return refused("no new privileges", error);
	return forbid(root_fd, directories, error) && drop_capabilities(error);
}
