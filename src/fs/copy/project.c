/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/project.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "fs/tree.h"

typedef struct {
	guint32 id, inherit; /* FS_XFLAG_PROJINHERIT, or 0 */
} Project;

static bool
get_project(int fd, struct fsxattr *ret_attributes, Project *ret_project)
{
	if (ioctl(fd, FS_IOC_FSGETXATTR, ret_attributes) < 0)
		return false;
	*ret_project = (Project){.id = ret_attributes->fsx_projid,
				 .inherit = ret_attributes->fsx_xflags & FS_XFLAG_PROJINHERIT};
	return true;
}

static bool
give(int fd, bool directory, const Project *project, const char *what, GError **error)
{
	struct fsxattr attributes = {0};
	Project has = {0};

	if (!get_project(fd, &attributes, &has))
		return gbe_throw_errno(error, errno, "cannot read the project of %s", what);
	attributes.fsx_projid = project->id;
	if (directory)
		attributes.fsx_xflags =
		    (attributes.fsx_xflags & ~(guint32)FS_XFLAG_PROJINHERIT) | project->inherit;
	return ioctl(fd, FS_IOC_FSSETXATTR, &attributes) == 0 ||
	       gbe_throw_errno(error, errno, "cannot set the project of %s", what);
}

static bool
visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
      GError **error)
{
	gbe_autofd int fd = -1;

	if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return true;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", path);
	return give(fd, S_ISDIR(st->st_mode), data, path, error);
}

bool
gbe_project_give(int tree_fd, int like_fd, GError **error)
{
	const GbeTreeLimits limits = gbe_tree_look_limits();
	struct fsxattr attributes = {0};
	Project project = {0}, has = {0};

	if (!get_project(like_fd, &attributes, &project) ||
	    !get_project(tree_fd, &attributes, &has) ||
	    (project.id == has.id && project.inherit == has.inherit))
		return true;
	return gbe_tree_walk_within(tree_fd, NULL, &limits, visit, &project, error) &&
	       give(tree_fd, true, &project, "the tree", error);
}
