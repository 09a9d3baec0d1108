/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/deployment/deployments.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "core/deployment-name.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "sys/deployment/ostree.h"
#include "sys/systemd/units.h"

#define BOOTED_FLAG "/run/ostree-booted"
#define PROGRAM "/usr/libexec/greenboot-etcd/prerun"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_LEN 36
#define SOFT_REBOOTS "/run/greenboot-etcd/soft-reboots"
#define MAX_SMALL_FILE 4096
#define MAX_OS_RELEASE 65536
static const char *const sysroots[] = {"/sysroot", "/"};

/* ---- this run ---- */

static bool
read_boot_id(int root_fd, char **ret_id, GError **error)
{
	g_autofree char *text = NULL;
	g_autofree char *id = g_malloc(BOOT_ID_LEN + 1);
	gsize size = 0;
	gsize digits = 0;

	if (!gbe_read_in_root(root_fd, BOOT_ID, MAX_SMALL_FILE, &text, &size, error))
		return false;
	(void)g_strchomp(text);
	for (const char *at = text; *at != '\0' && digits < BOOT_ID_LEN; at++) {
		if (*at == '-')
			continue;
		if (!g_ascii_isxdigit(*at))
			break;
		id[digits++] = g_ascii_tolower(*at);
	}
	id[digits] = '\0';
	if (digits != 32 || strlen(text) != BOOT_ID_LEN)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "%s does not hold a boot id",
				 BOOT_ID);
	*ret_id = g_steal_pointer(&id);
	return true;
}

/* Below --root: reads the count that the root's maker, or a test, wrote. */
static bool
read_count_file(int root_fd, guint *ret_count, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *text = NULL;
	guint64 count = 0;
	gsize size = 0;

	if (!gbe_read_in_root(root_fd, SOFT_REBOOTS, MAX_SMALL_FILE, &text, &size, &local)) {
		if (!g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
					 "cannot determine the number of soft reboots: %s",
					 local->message);
		*ret_count = 0;
		return true;
	}
	(void)g_strchomp(text);
	if (!g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT, &count, NULL))
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
				 "cannot determine the number of soft reboots: %s is not a number",
				 SOFT_REBOOTS);
	*ret_count = (guint)count;
	return true;
}

bool
gbe_run_read(int root_fd, bool is_root, char **ret_run, GError **error)
{
	g_autoptr(GError) local = NULL;
	g_autofree char *boot = NULL;
	guint count = 0;
	bool known = read_boot_id(root_fd, &boot, &local);

	if (known && !is_root)
		known = read_count_file(root_fd, &count, &local);
	else if (known && access("/run/systemd/system", F_OK) == 0)
		known = gbe_manager_soft_reboots(&count, &local);
	if (!known)
		return gbe_throw(error, GBE_ERROR_CANNOT_TELL, "cannot identify this boot: %s",
				 local->message);
	*ret_run = count > 0 ? g_strdup_printf("%s+%u", boot, count) : g_steal_pointer(&boot);
	return true;
}

/* ---- the list ---- */

typedef struct {
	int root_fd;
	bool is_root;
	int sysroot_fd;
	GbeOstree *ostree; /* loaded, or NULL */
} Loader;

static void
loader_clear(Loader *loader)
{
	gbe_close_fd(&loader->sysroot_fd);
	g_clear_pointer(&loader->ostree, gbe_ostree_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Loader, loader_clear)

void
gbe_deployments_free(GbeDeployments *deployments)
{
	if (deployments == NULL)
		return;
	g_clear_pointer(&deployments->listed, g_ptr_array_unref);
	gbe_deployment_clear(&deployments->booted);
	g_free(deployments->list_why);
	g_free(deployments->booted_why);
	gbe_close_fd(&deployments->sysroot_fd);
	g_free(deployments);
}

/* Reads from the deployment's directory: its handle, and whether this program is in its tree. False: the directory is
 * missing. */
static bool
look_into(const Loader *loader, const GbeDeployDir *dir, char **ret_handle, GbeTri *ret_has_program)
{
	g_autofree char *path = gbe_deploy_dir_path(dir);
	gbe_autofd int fd = -1;

	if (!gbe_open_in_root(loader->sysroot_fd, path, O_RDONLY | O_DIRECTORY, &fd, NULL))
		return false;
	*ret_handle = gbe_tree_identity(fd);
	if (ret_has_program != NULL)
		*ret_has_program = gbe_is_in_root(fd, PROGRAM);
	return true;
}

static GbeListed *
listed_new(const Loader *loader, const GbeDeployDir *dir)
{
	GbeListed *listed = g_new0(GbeListed, 1);

	listed->ref.id = gbe_deployment_id_format(dir->stateroot, dir->checksum, dir->serial);
	(void)look_into(loader, dir, &listed->ref.handle, &listed->has_program);
	gbe_ostree_commit_labels(loader->ostree, dir->checksum, &listed->timestamp,
				 &listed->version);
	return listed;
}

/* Below --root libostree does not look for a staged deployment. On the system itself it does, but only newer
 * versions report whether it is locked. */
static void
add_staged(GbeDeployments *deployments, const Loader *loader)
{
	g_auto(GbeDeployDir) dir = {NULL};
	g_autofree char *handle = NULL;
	GPtrArray *listed = deployments->listed;
	GbeListed *first = listed->len > 0 ? listed->pdata[0] : NULL;
	bool locked = false;

	if (!gbe_staged_read(loader->root_fd, &dir, &locked, NULL))
		return;
	if (!loader->is_root) {
		/* The file may outlive the deployment that it names, for example after a cleanup. */
		if (!look_into(loader, &dir, &handle, NULL))
			return;
		first = listed_new(loader, &dir);
		first->staged = true;
		g_ptr_array_insert(listed, 0, first);
	}
	if (first != NULL && first->staged)
		first->locked = locked;
}

static bool
same_stateroot(const char *id_a, const char *id_b)
{
	g_autofree char *a = NULL;
	g_autofree char *b = NULL;

	return gbe_deployment_id_parse(id_a, &a, NULL, NULL) &&
	       gbe_deployment_id_parse(id_b, &b, NULL, NULL) && strcmp(a, b) == 0;
}

/* Sets what follows from a deployment's place. The rollback is the first one after the booted one in the same
 * stateroot, as in libostree. */
static void
mark_places(GbeDeployments *deployments)
{
	const GbeDeployment *booted = &deployments->booted;
	bool past_booted = false;
	bool have_rollback = false;
	bool have_default = false;

	for (guint i = 0; i < deployments->listed->len; i++) {
		GbeListed *listed = deployments->listed->pdata[i];

		listed->index = i;
		listed->is_default = !listed->staged && !have_default;
		have_default = have_default || listed->is_default;
		listed->booted = gbe_deployment_same(&listed->ref, booted);
		if (!listed->booted && past_booted && !have_rollback && !listed->staged &&
		    same_stateroot(listed->ref.id, booted->id)) {
			listed->rollback = true;
			have_rollback = true;
		}
		past_booted = past_booted || listed->booted;
	}
}

static void
take_list(GbeDeployments *deployments, const Loader *loader)
{
	g_autoptr(GPtrArray) all = gbe_ostree_list(loader->ostree);

	deployments->listed = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_listed_free);
	for (guint i = 0; i < all->len; i++) {
		const GbeOstreeDeployment *deployment = all->pdata[i];
		GbeListed *listed = listed_new(loader, &deployment->dir);

		listed->staged = deployment->staged;
		listed->pinned = deployment->pinned;
		listed->unlocked = g_strdup(deployment->unlocked);
		g_ptr_array_add(deployments->listed, listed);
	}
	add_staged(deployments, loader);
}

static void
take_booted(GbeDeployments *deployments, const Loader *loader, const GbeCmdline *cmdline)
{
	g_auto(GbeDeployDir) dir = {NULL};
	g_autofree char *run = NULL, *handle = NULL;
	g_autoptr(GError) local = NULL;
	bool known = false;

	if (loader->ostree != NULL && loader->is_root) {
		known = gbe_ostree_booted(loader->ostree, &dir);
	} else if (loader->is_root) {
		/* The list is unreadable when an automounted /boot is not mounted again while the machine goes down.
		 * After a soft reboot, ostree= names the deployment before. */
		if (cmdline != NULL && cmdline->ostree != NULL && loader->sysroot_fd >= 0 &&
		    gbe_run_read(loader->root_fd, true, &run, NULL) && strchr(run, '+') == NULL)
			known = gbe_booted_resolve(loader->sysroot_fd, cmdline->ostree, &dir, NULL);
	} else if (cmdline == NULL || cmdline->ostree == NULL) {
		deployments->booted_why = g_strdup("there is no ostree= in proc/cmdline");
		return;
	} else if (!gbe_booted_resolve(loader->sysroot_fd, cmdline->ostree, &dir, &local)) {
		deployments->booted_why = g_strdup(local->message);
		return;
	} else {
		known = true;
	}
	if (!known) {
		deployments->booted_why =
		    g_strdup(deployments->list_why != NULL
				 ? deployments->list_why
				 : "none of ostree's deployments is the one that runs");
		return;
	}
	if (GBE_FAULT("booted-looked", &local)) {
		deployments->booted_why = g_strdup(local->message);
		return;
	}
	if (!look_into(loader, &dir, &handle, NULL)) {
		g_autofree char *path = gbe_deploy_dir_path(&dir);

		deployments->booted_why =
		    g_strdup_printf("the booted deployment's directory %s is not there", path);
		return;
	}
	deployments->booted.id = gbe_deployment_id_format(dir.stateroot, dir.checksum, dir.serial);
	deployments->booted.handle = g_steal_pointer(&handle);
}

static void
loader_init(Loader *loader, int root_fd, const char *root_path)
{
	*loader = (Loader){
	    .root_fd = root_fd,
	    .is_root = strcmp(root_path, "/") == 0,
	    .sysroot_fd = -1,
	};
}

/* Opens the physical sysroot: below a booted deployment it is mounted at /sysroot. A sysroot on a machine that did not
 * boot from it is a build directory. */
static bool
open_sysroot(Loader *loader, GbeTri ostree, GError **error)
{
	if (ostree == GBE_NO && loader->is_root)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "this is not an ostree system");
	for (gsize i = 0; i < G_N_ELEMENTS(sysroots); i++) {
		gbe_autofd int fd = -1;

		if (!gbe_open_in_root(loader->root_fd, sysroots[i], O_RDONLY | O_DIRECTORY, &fd,
				      NULL) ||
		    gbe_is_in_root(fd, "/ostree/repo") != GBE_YES)
			continue;
		loader->sysroot_fd = gbe_steal_fd(&fd);
		return true;
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND,
			 "there is no ostree sysroot (no ostree/repo at / or /sysroot)");
}

void
gbe_deployments_load_ahead(int root_fd, const char *root_path)
{
	g_auto(Loader) loader;

	loader_init(&loader, root_fd, root_path);
	if (open_sysroot(&loader, gbe_is_in_root(root_fd, BOOTED_FLAG), NULL))
		gbe_ostree_load_ahead();
}

GbeDeployments *
gbe_deployments_load(int root_fd, const char *root_path, const GbeCmdline *cmdline)
{
	g_auto(Loader) loader;
	GbeDeployments *deployments = g_new0(GbeDeployments, 1);
	g_autoptr(GError) local = NULL;

	deployments->sysroot_fd = -1;
	loader_init(&loader, root_fd, root_path);
	deployments->ostree = gbe_is_in_root(root_fd, BOOTED_FLAG);
	if (!open_sysroot(&loader, deployments->ostree, &local) ||
	    !gbe_ostree_open(loader.sysroot_fd, loader.is_root, &loader.ostree, &local))
		deployments->list_why = g_strdup(local->message);
	else
		take_list(deployments, &loader);

	if (deployments->ostree == GBE_NO)
		deployments->booted_why = g_strdup("this is not an ostree system");
	else if (loader.sysroot_fd < 0)
		deployments->booted_why = g_strdup(deployments->list_why);
	else
		take_booted(deployments, &loader, cmdline);
	if (deployments->listed != NULL)
		mark_places(deployments);
	deployments->sysroot_fd = gbe_steal_fd(&loader.sysroot_fd);
	return deployments;
}

bool
gbe_deployments_open_tree(int root_fd, const char *id, char **ret_path, int *ret_fd, GError **error)
{
	g_auto(GbeDeployDir) dir = {NULL};
	g_autofree char *below = NULL;
	const char *checksum = NULL;

	if (!gbe_deployment_id_parse(id, &dir.stateroot, &checksum, &dir.serial))
		return gbe_throw(error, GBE_ERROR_NOT_FOUND, "%s is no deployment", id);
	dir.checksum = g_strndup(checksum, GBE_CHECKSUM_LEN);
	below = gbe_deploy_dir_path(&dir);
	for (gsize i = 0; i < G_N_ELEMENTS(sysroots); i++) {
		g_autofree char *path = g_build_filename(sysroots[i], below, NULL);

		if (gbe_open_in_root(root_fd, path, O_RDONLY | O_DIRECTORY, ret_fd, NULL)) {
			*ret_path = g_steal_pointer(&path);
			return true;
		}
	}
	return gbe_throw(error, GBE_ERROR_NOT_FOUND, "the tree of %s is not there", id);
}

const GbeListed *
gbe_deployments_find(const GbeDeployments *deployments, const GbeDeployment *ref)
{
	for (guint i = 0; deployments->listed != NULL && i < deployments->listed->len; i++) {
		const GbeListed *listed = deployments->listed->pdata[i];

		if (gbe_deployment_same(&listed->ref, ref))
			return listed;
	}
	return NULL;
}

const char *
gbe_deployments_unlocked(const GbeDeployments *deployments)
{
	const GbeListed *booted = gbe_deployments_find(deployments, &deployments->booted);

	return booted != NULL ? booted->unlocked : NULL;
}

char *
gbe_deployments_neighbour(const GbeDeployments *deployments)
{
	const char *booted = deployments->booted.id;
	char *stateroot = NULL;

	for (guint i = 0; booted != NULL && deployments->listed != NULL && stateroot == NULL &&
			  i < deployments->listed->len;
	     i++) {
		const GbeListed *listed = deployments->listed->pdata[i];

		if (!same_stateroot(listed->ref.id, booted))
			(void)gbe_deployment_id_parse(listed->ref.id, &stateroot, NULL, NULL);
	}
	return stateroot;
}

const char *
gbe_deployments_presence(const GbeDeployments *deployments, const GbeDeployment *ref)
{
	const GbeListed *listed = gbe_deployments_find(deployments, ref);
	bool before_booted = true;

	if (gbe_deployment_same(&deployments->booted, ref))
		return "booted";
	/* A list without the booted deployment also lacks others: an unmounted /boot empties it. */
	if (listed == NULL)
		return gbe_deployments_find(deployments, &deployments->booted) != NULL ? "gone"
										       : NULL;
	if (listed->staged)
		return "staged";
	if (listed->pinned && !listed->rollback)
		return "pinned";
	/* The deployment exists, and is not booted, staged or pinned. If it boots before the booted one, it is about to
	 * be used; else it is one to go back to. */
	for (guint i = 0; i < listed->index; i++) {
		const GbeListed *earlier = deployments->listed->pdata[i];

		before_booted = before_booted && !earlier->booted;
	}
	return !listed->rollback && before_booted && deployments->booted.id != NULL ? "staged"
										    : "rollback";
}

void
gbe_deployments_read_versions(GbeDeployments *deployments)
{
	for (guint i = 0; deployments->sysroot_fd >= 0 && deployments->listed != NULL &&
			  i < deployments->listed->len;
	     i++) {
		GbeListed *listed = deployments->listed->pdata[i];
		g_auto(GbeDeployDir) dir = {NULL};
		const char *checksum = NULL;
		g_autofree char *below = NULL, *path = NULL, *text = NULL;
		gsize size = 0;

		if (listed->version != NULL ||
		    !gbe_deployment_id_parse(listed->ref.id, &dir.stateroot, &checksum,
					     &dir.serial))
			continue;
		dir.checksum = g_strndup(checksum, GBE_CHECKSUM_LEN);
		below = gbe_deploy_dir_path(&dir);
		path = g_build_filename(below, "usr/lib/os-release", NULL);
		if (gbe_read_in_root(deployments->sysroot_fd, path, MAX_OS_RELEASE, &text, &size,
				     NULL))
			listed->version = gbe_os_release_version(text);
	}
	gbe_close_fd(&deployments->sysroot_fd);
}

GPtrArray *
gbe_deployments_names(GbeDeployments *deployments)
{
	GPtrArray *names = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_deployment_name_free);

	gbe_deployments_read_versions(deployments);
	for (guint i = 0; deployments->listed != NULL && i < deployments->listed->len; i++) {
		const GbeListed *listed = deployments->listed->pdata[i];
		GbeDeploymentName *name = g_new0(GbeDeploymentName, 1);

		name->id = g_strdup(listed->ref.id);
		name->version = g_strdup(listed->version);
		name->place = g_strdup(gbe_deployments_presence(deployments, &listed->ref));
		g_ptr_array_add(names, name);
	}
	return names;
}
