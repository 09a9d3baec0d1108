/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sys/deployment/booted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/deployment.h"
#include "fs/open.h"

/* The kernel's own limit is a few KiB, on every architecture. */
#define MAX_CMDLINE (64 * 1024)
#define STAGED "/run/ostree/staged-deployment"
#define STAGED_LOCKED "/run/ostree/staged-deployment-locked"
#define MAX_STAGED (1024 * 1024)
/* /ostree/boot.1/... is one link; a bootloader without menus adds another. */
#define MAX_LINKS 4

void
gbe_deploy_dir_clear(GbeDeployDir *dir)
{
	g_clear_pointer(&dir->stateroot, g_free);
	g_clear_pointer(&dir->checksum, g_free);
	dir->serial = 0;
}

/* Reads "<checksum>.<serial>" of @stateroot with the one parser of ids. */
static bool
parse_name(const char *stateroot, const char *name, GbeDeployDir *ret_dir)
{
	g_autofree char *id = g_strdup_printf("%s-%s", stateroot, name);
	g_autofree char *parsed = NULL;
	const char *checksum = NULL;
	guint serial = 0;

	if (!gbe_deployment_id_parse(id, &parsed, &checksum, &serial) ||
	    strcmp(parsed, stateroot) != 0)
		return false;
	ret_dir->stateroot = g_steal_pointer(&parsed);
	ret_dir->checksum = g_strndup(checksum, GBE_CHECKSUM_LEN);
	ret_dir->serial = serial;
	return true;
}

bool
gbe_deploy_dir_parse(const char *path, GbeDeployDir *ret_dir)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", -1);
	guint count = g_strv_length(parts);

	if (count > 0 && *parts[count - 1] == '\0')
		count--;
	if (count < 4 || strcmp(parts[count - 2], "deploy") != 0 ||
	    strcmp(parts[count - 4], "deploy") != 0)
		return false;
	return parse_name(parts[count - 3], parts[count - 1], ret_dir);
}

char *
gbe_deploy_dir_path(const GbeDeployDir *dir)
{
	return g_strdup_printf("ostree/deploy/%s/deploy/%s.%u", dir->stateroot, dir->checksum,
			       dir->serial);
}

/* The link's text. NULL without @error where @path is no link; every other failure sets @error. */
static char *
read_link(int sysroot_fd, const char *path, GError **error)
{
	gbe_autofd int parent_fd = -1;
	g_autofree char *name = NULL;
	g_autofree char *target = g_malloc0(PATH_MAX);

	if (!gbe_open_parent_in_root(sysroot_fd, path, &parent_fd, &name, error))
		return NULL;
	if (readlinkat(parent_fd, name, target, PATH_MAX - 1) < 0) {
		if (errno != EINVAL)
			(void)gbe_throw_errno(error, errno, "cannot read the link %s", path);
		return NULL;
	}
	return g_steal_pointer(&target);
}

bool
gbe_booted_resolve(int sysroot_fd, const char *ostree_arg, GbeDeployDir *ret_dir, GError **error)
{
	g_autofree char *path = g_strdup(ostree_arg);

	for (guint links = 0; links < MAX_LINKS; links++) {
		g_autoptr(GError) local = NULL;
		g_autofree char *target = NULL;
		char *next;

		if (gbe_deploy_dir_parse(path, ret_dir))
			return true;
		target = read_link(sysroot_fd, path, &local);
		if (local != NULL) {
			g_propagate_prefixed_error(error, g_steal_pointer(&local),
						   "ostree=%s leads nowhere: ", ostree_arg);
			return false;
		}
		if (target == NULL)
			break;
		if (*target == '/') {
			next = g_steal_pointer(&target);
		} else {
			g_autofree char *parent = g_path_get_dirname(path);

			next = g_build_filename(parent, target, NULL);
		}
		g_free(path);
		path = next;
	}
	return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
			 "ostree=%s does not lead to the directory of a deployment", ostree_arg);
}

bool
gbe_staged_parse(const char *bytes, gsize size, GbeDeployDir *ret_dir, bool *ret_locked,
		 GError **error)
{
	g_autoptr(GBytes) copy = g_bytes_new(bytes, size);
	g_autoptr(GVariant) staged =
	    g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE_VARDICT, copy, false));
	g_autoptr(GVariant) target = NULL;
	const char *stateroot = NULL;
	const char *name = NULL;
	bool locked = false;

	target = g_variant_lookup_value(staged, "target", G_VARIANT_TYPE_VARDICT);
	if (target == NULL || !g_variant_lookup(target, "osname", "&s", &stateroot) ||
	    !g_variant_lookup(target, "name", "&s", &name) || !parse_name(stateroot, name, ret_dir))
		return gbe_throw(error, GBE_ERROR_CORRUPT, "%s does not name a deployment", STAGED);
	(void)g_variant_lookup(staged, "locked", "b", &locked);
	*ret_locked = locked;
	return true;
}

bool
gbe_staged_read(int root_fd, GbeDeployDir *ret_dir, bool *ret_locked, GError **error)
{
	g_autofree char *bytes = NULL;
	bool locked = false;
	gsize size = 0;

	if (!gbe_read_in_root(root_fd, STAGED, MAX_STAGED, &bytes, &size, error) ||
	    !gbe_staged_parse(bytes, size, ret_dir, &locked, error))
		return false;
	/* Older versions of ostree use a file next to it. */
	*ret_locked = locked || gbe_is_in_root(root_fd, STAGED_LOCKED) == GBE_YES;
	return true;
}

bool
gbe_staged_lock(int root_fd, bool locked, GError **error)
{
	g_autofree char *name = NULL;
	gbe_autofd int dir_fd = -1;
	gbe_autofd int fd = -1;
	g_autoptr(GError) local = NULL;

	if (!gbe_open_parent_in_root(root_fd, STAGED_LOCKED, &dir_fd, &name, &local)) {
		if (!locked && g_error_matches(local, GBE_ERROR, GBE_ERROR_NOT_FOUND))
			return true;
		return gbe_pass(error, &local);
	}
	if (!locked)
		return unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT ||
		       gbe_throw_errno(error, errno, "remove %s", STAGED_LOCKED);
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd >= 0 || gbe_throw_errno(error, errno, "make %s", STAGED_LOCKED);
}

/* ---- the kernel command line ---- */

void
gbe_cmdline_clear(GbeCmdline *cmdline)
{
	g_clear_pointer(&cmdline->ostree, g_free);
	g_clear_pointer(&cmdline->restore, g_free);
	g_clear_pointer(&cmdline->rd_restore, g_free);
	g_clear_pointer(&cmdline->masked, g_ptr_array_unref);
	cmdline->skip = false;
	cmdline->rd_skip = false;
}

/* Takes the next word from *@at as the kernel does. A blank outside of double quotes ends it. Quotes round the whole
 * word or round the value are removed. *ret_value is NULL without a '='. */
static char *
next_word(char **at, char **ret_value)
{
	char *word = *at + strspn(*at, " \t\n\v\f\r");
	char *equals = NULL;
	bool quoted = false;
	bool whole = false;
	char *end;

	if (*word == '\0')
		return NULL;
	if (*word == '"') {
		whole = true;
		quoted = true;
		word++;
	}
	for (end = word; *end != '\0' && (quoted || !g_ascii_isspace(*end)); end++) {
		if (*end == '=' && equals == NULL && end > word)
			equals = end;
		if (*end == '"')
			quoted = !quoted;
	}
	*at = *end == '\0' ? end : end + 1;
	*end = '\0';
	if (whole && end > word && end[-1] == '"')
		end[-1] = '\0';
	*ret_value = NULL;
	if (equals != NULL) {
		*equals = '\0';
		*ret_value = equals + 1;
		if (equals[1] == '"') {
			(*ret_value)++;
			if (end > *ret_value && end[-1] == '"')
				end[-1] = '\0';
		}
	}
	return word;
}

/* '-' and '_' are equal in names, for the kernel and for systemd. */
static bool
is_key(const char *word, const char *key)
{
	for (; *word != '\0' && *key != '\0'; word++, key++) {
		char a = *word == '_' ? '-' : *word;
		char b = *key == '_' ? '-' : *key;

		if (a != b)
			return false;
	}
	return *word == *key;
}

/* A switch without a value is on. */
static bool
switched_on(const char *value)
{
	static const char *const off[] = {"0", "no", "n", "off", "false", "f"};

	if (value == NULL)
		return true;
	for (gsize i = 0; i < G_N_ELEMENTS(off); i++)
		if (g_ascii_strcasecmp(value, off[i]) == 0)
			return false;
	return true;
}

/* The last value wins. An empty value drops those before it. */
static void
replace_value(char **where, const char *value)
{
	g_free(*where);
	*where = value == NULL || *value == '\0' ? NULL : g_strdup(value);
}

void
gbe_cmdline_parse(const char *text, GbeCmdline *ret_cmdline)
{
	g_autofree char *copy = g_strdup(text);
	GbeCmdline cmdline = {NULL};
	char *at = copy;
	char *value = NULL;
	char *word;

	while ((word = next_word(&at, &value)) != NULL) {
		if (strcmp(word, "ostree") == 0)
			replace_value(&cmdline.ostree, value);
		else if (is_key(word, "greenboot-etcd.restore"))
			replace_value(&cmdline.restore, value);
		else if (is_key(word, "greenboot-etcd.skip"))
			cmdline.skip = switched_on(value);
		else if (is_key(word, "rd.greenboot-etcd.restore"))
			replace_value(&cmdline.rd_restore, value);
		else if (is_key(word, "rd.greenboot-etcd.skip"))
			cmdline.rd_skip = switched_on(value);
		else if (is_key(word, "systemd.mask") && value != NULL && *value != '\0') {
			if (cmdline.masked == NULL)
				cmdline.masked = g_ptr_array_new_with_free_func(g_free);
			g_ptr_array_add(cmdline.masked, g_strdup(value));
		}
	}
	*ret_cmdline = cmdline;
}

bool
gbe_cmdline_read(int root_fd, GbeCmdline *ret_cmdline, GError **error)
{
	g_autofree char *text = NULL;
	gsize size = 0;

	if (!gbe_read_in_root(root_fd, "/proc/cmdline", MAX_CMDLINE, &text, &size, error))
		return false;
	gbe_cmdline_parse(text, ret_cmdline);
	return true;
}
