/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Uses a real sysroot that ostree itself made, below --root and as the running system. The latter is a namespace whose
 * root is a deployment; ostree itself stages one there. */
#include "sys-root.h"

#include "core/deployment-name.h"
#include "sys/deployment/deployments.h"

#define STATEROOT "fedora_iot.x-y"

/* $1: the sysroot. A has the program, B and C do not. The commit A names its version, and the os-release of B. */
static const char make_sysroot[] =
    "root=$1\n"
    "commit() {\n"
    "	tree=$(mktemp -d \"$root/../tree.XXXXXX\")\n"
    "	mkdir -p $tree/usr/{bin,sbin,lib/modules/6.1.0,lib64,etc,libexec}\n"
    "	mkdir -p $tree/{sysroot,proc,sys,run,dev,tmp,var,boot}\n"
    "	for l in bin sbin lib lib64; do ln -s usr/$l $tree/$l; done\n"
    "	ln -s sysroot/ostree $tree/ostree\n"
    "	echo k >$tree/usr/lib/modules/6.1.0/vmlinuz\n"
    "	echo i >$tree/usr/lib/modules/6.1.0/initramfs.img\n"
    "	echo ID=$1 >$tree/usr/lib/os-release\n"
    "	[ $1 != B ] || echo VERSION_ID=43.2 >>$tree/usr/lib/os-release\n"
    "	[ $1 != A ] || set -- $1 $2 --add-metadata-string=version=42.1\n"
    "	if [ $1 = A ]; then\n"
    "		mkdir $tree/usr/libexec/greenboot-etcd\n"
    "		touch $tree/usr/libexec/greenboot-etcd/prerun\n"
    "	fi\n"
    "	ostree --repo=$root/ostree/repo commit --branch=os/$1 --tree=dir=$tree --fsync=false \\\n"
    "		-s $1 --timestamp=$2 ${3-}\n"
    "	rm -rf $tree\n"
    "}\n"
    "ostree admin init-fs --modern $root\n"
    "ostree admin --sysroot=$root os-init " STATEROOT "\n"
    "ostree --repo=$root/ostree/repo config set sysroot.bootloader none\n"
    "commit A @1700000000; commit B @1700000100; commit C @1700000200\n";

static void
shell(const char *script)
{
	if (RUN("bash", "-euc", script, "bash", root) != 0)
		ck_abort_msg("the script failed:\n%s", script);
}

static void
deploy(const char *name, const char *option)
{
	g_autofree char *script = g_strdup_printf(
	    "ostree admin --sysroot=$1 deploy --os=" STATEROOT " %s os/%s", option, name);

	shell(script);
}

static char *
checksum_of(const char *name)
{
	g_autofree char *repo = root_path("ostree/repo");
	g_autofree char *option = g_strconcat("--repo=", repo, NULL);
	g_autofree char *ref = g_strconcat("os/", name, NULL);
	char *output = NULL;

	ck_assert_int_eq(
	    run_program((const char *[]){"ostree", option, "rev-parse", ref, NULL}, &output), 0);
	return g_strchomp(output);
}

static char *
id_of(const char *name, guint serial)
{
	g_autofree char *checksum = checksum_of(name);

	return gbe_deployment_id_format(STATEROOT, checksum, serial);
}

/* The value of ostree= for the deployment @name: the link that ostree made below boot.N. */
static void
boot(const char *name, guint serial)
{
	g_autofree char *checksum = checksum_of(name);
	g_autofree char *script = g_strdup_printf(
	    "cd $1; for link in ostree/boot.?/*/*/*; do\n"
	    "	case $(readlink $link) in\n"
	    "	*/%s.%u) mkdir -p proc run; echo \"quiet ostree=/$link rw\" >proc/cmdline;\n"
	    "		touch run/ostree-booted; exit 0 ;;\n"
	    "	esac\n"
	    "done\n"
	    "exit 1\n",
	    checksum, serial);

	shell(script);
}

/* "A.0 booted default program pinned", one line each, in ostree's order. */
static char *
describe(const GbeDeployments *d, const char *const *names, const char *const *checksums)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; d->listed != NULL && i < d->listed->len; i++) {
		const GbeListed *l = d->listed->pdata[i];
		const char *checksum = NULL;
		guint serial = 0;

		if (!gbe_deployment_id_parse(l->ref.id, NULL, &checksum, &serial) || l->index != i)
			return g_string_free(text, false);
		for (guint n = 0; names[n] != NULL; n++)
			if (g_str_has_prefix(checksum, checksums[n]))
				g_string_append_printf(text, "%s.%u", names[n], serial);
		g_string_append_printf(text, "%s%s%s%s%s%s%s%s %" G_GINT64_FORMAT "\n",
				       l->booted ? " booted" : "", l->staged ? " staged" : "",
				       l->rollback ? " rollback" : "", l->pinned ? " pinned" : "",
				       l->is_default ? " default" : "", l->locked ? " locked" : "",
				       l->has_program == GBE_YES ? " program" : "",
				       l->ref.handle == NULL ? " no-handle" : "", l->timestamp);
	}
	return g_string_free(text, false);
}

static char *
describe_by_name(const GbeDeployments *d)
{
	const char *names[] = {"A", "B", "C", NULL};
	g_autofree char *a = checksum_of("A");
	g_autofree char *b = checksum_of("B");
	g_autofree char *c = checksum_of("C");
	const char *checksums[] = {a, b, c, NULL};

	return describe(d, names, checksums);
}

static GbeDeployments *
load(void)
{
	GbeCmdline cmdline = {NULL};
	GbeDeployments *d;

	(void)!gbe_cmdline_read(root_fd, &cmdline, NULL);
	d = gbe_deployments_load(root_fd, root, &cmdline);
	gbe_cmdline_clear(&cmdline);
	return d;
}

static void
expect(const char *expected)
{
	g_autoptr(GbeDeployments) d = load();
	g_autofree char *found = describe_by_name(d);

	ck_assert_msg(d->listed != NULL, "%s", d->list_why);
	ck_assert_str_eq(found, expected);
}

static bool
have_ostree(const char *test)
{
	if (!have_root(test))
		return false;
	if (RUN("ostree", "--version") == 0)
		return true;
	gbe_unit_skip(test, "ostree is not installed: make deps");
	return false;
}

START_TEST(no_sysroot_at_all)
{
	g_autoptr(GbeDeployments) plain = load();
	g_autoptr(GbeDeployments) booted = NULL;

	ck_assert_int_eq(plain->ostree, GBE_NO);
	ck_assert_ptr_null(plain->listed);
	ck_assert_ptr_nonnull(plain->list_why);
	ck_assert_ptr_null(plain->booted.id);
	ck_assert_ptr_nonnull(plain->booted_why);
	root_write("run/ostree-booted", "");
	booted = load();
	ck_assert_int_eq(booted->ostree, GBE_YES);
	ck_assert_ptr_null(booted->listed);
	ck_assert_ptr_null(booted->booted.id);
	ck_assert_ptr_nonnull(booted->booted_why);
	ck_assert_ptr_null(gbe_deployments_presence(booted, &booted->booted));
}
END_TEST

START_TEST(list_and_booted)
{
	g_autoptr(GbeDeployments) d = NULL;
	g_autofree char *id = NULL;

	if (!have_ostree("list-and-booted"))
		return;
	shell(make_sysroot);
	deploy("A", "");
	expect("A.0 default program 1700000000\n");
	boot("A", 0);
	expect("A.0 booted default program 1700000000\n");
	deploy("B", "--retain");
	/* The link that ostree= names has changed: ostree changed the boot order meanwhile. */
	boot("A", 0);
	expect("B.0 default 1700000100\nA.0 booted program 1700000000\n");
	boot("B", 0);
	expect("B.0 booted default 1700000100\nA.0 rollback program 1700000000\n");
	deploy("B", "--retain");
	boot("B", 0);
	expect("B.1 default 1700000100\nB.0 booted 1700000100\nA.0 rollback program 1700000000\n");
	/* The booted deployment is found by its directory, serial included. */
	d = load();
	id = id_of("B", 0);
	ck_assert_str_eq(d->booted.id, id);
	ck_assert_ptr_nonnull(d->booted.handle);
	ck_assert_ptr_null(d->booted_why);
}
END_TEST

START_TEST(pinned_and_presence)
{
	g_autoptr(GbeDeployments) d = NULL;
	g_autofree char *a = NULL;
	g_autofree char *b = NULL;
	g_autofree char *c = NULL;
	GbeDeployment ref = {NULL};

	if (!have_ostree("pinned-and-presence"))
		return;
	shell(make_sysroot);
	deploy("A", "");
	deploy("B", "--retain");
	deploy("C", "--retain");
	boot("C", 0);
	shell("ostree admin --sysroot=$1 pin 2");
	expect("C.0 booted default 1700000200\nB.0 rollback 1700000100\n"
	       "A.0 pinned program 1700000000\n");
	d = load();
	a = ref.id = id_of("A", 0);
	ck_assert_str_eq(gbe_deployments_presence(d, &ref), "pinned");
	ck_assert(gbe_deployments_find(d, &ref)->pinned);
	/* The same name with another directory is another deployment. */
	ref.handle = g_strconcat(gbe_deployments_find(d, &ref)->ref.handle, "00", NULL);
	ck_assert_ptr_null(gbe_deployments_find(d, &ref));
	ck_assert_str_eq(gbe_deployments_presence(d, &ref), "gone");
	g_clear_pointer(&ref.handle, g_free);
	b = ref.id = id_of("B", 0);
	ck_assert_str_eq(gbe_deployments_presence(d, &ref), "rollback");
	c = ref.id = id_of("C", 0);
	ck_assert_str_eq(gbe_deployments_presence(d, &ref), "booted");
	ref.id =
	    (char *)STATEROOT "-"
			      "0000000000000000000000000000000000000000000000000000000000000000.0";
	ck_assert_str_eq(gbe_deployments_presence(d, &ref), "gone");
}
END_TEST

START_TEST(versions_and_places)
{
	static const char *const expected[] = {NULL, "43.2 (rollback)", "42.1 (pinned)"};
	g_autoptr(GbeDeployments) d = NULL;
	g_autoptr(GPtrArray) names = NULL;
	g_autofree char *c = NULL;

	if (!have_ostree("versions-and-places"))
		return;
	shell(make_sysroot);
	deploy("A", "");
	deploy("B", "--retain");
	deploy("C", "--retain");
	boot("C", 0);
	shell("ostree admin --sysroot=$1 pin 2");
	d = load();
	names = gbe_deployments_names(d);
	c = checksum_of("C");
	ck_assert_uint_eq(names->len, 3);
	for (guint i = 0; i < names->len; i++) {
		const GbeDeploymentName *of = names->pdata[i];
		g_autofree char *name = gbe_deployment_name_placed(names, of->id);
		g_autofree char *digits = g_strdup_printf("%.12s (booted)", c);

		ck_assert_str_eq(name, i == 0 ? digits : expected[i]);
	}
}
END_TEST

/* ostree uses a serial again once its directory is gone; the handle differs. */
START_TEST(reused_serial_has_another_handle)
{
	g_autoptr(GbeDeployments) before = NULL;
	g_autoptr(GbeDeployments) after = NULL;
	const GbeListed *was;
	const GbeListed *is;

	if (!have_ostree("reused-serial-has-another-handle"))
		return;
	shell(make_sysroot);
	deploy("A", "");
	deploy("B", "--retain");
	before = load();
	was = before->listed->pdata[0];
	shell("ostree admin --sysroot=$1 undeploy 0");
	deploy("B", "--retain");
	after = load();
	is = after->listed->pdata[0];
	ck_assert_str_eq(was->ref.id, is->ref.id);
	ck_assert_str_ne(was->ref.handle, is->ref.handle);
	ck_assert(!gbe_deployment_same(&was->ref, &is->ref));
}
END_TEST

/* A boot entry that ostree does not list any more is still the one that runs. */
START_TEST(booted_and_not_listed)
{
	g_autoptr(GbeDeployments) d = NULL;
	g_autofree char *a = NULL;

	if (!have_ostree("booted-and-not-listed"))
		return;
	shell(make_sysroot);
	deploy("A", "");
	deploy("B", "--retain");
	a = checksum_of("A");
	shell("rm $1/boot/loader/entries/ostree-1-*.conf");
	{
		g_autofree char *line =
		    g_strdup_printf("ostree=/ostree/deploy/" STATEROOT "/deploy/%s.0\n", a);

		root_write("proc/cmdline", line);
	}
	root_write("run/ostree-booted", "");
	expect("B.0 default 1700000100\n");
	d = load();
	ck_assert_ptr_nonnull(d->booted.id);
	ck_assert_ptr_nonnull(strstr(d->booted.id, a));
	ck_assert_str_eq(gbe_deployments_presence(d, &d->booted), "booted");
	/* A deployment without its directory cannot be booted. */
	root_write("proc/cmdline", "ostree=/ostree/deploy/" STATEROOT "/deploy/"
				   "000000000000000000000000000000000000000000000000000000000000"
				   "0000.0\n");
	gbe_deployments_free(g_steal_pointer(&d));
	d = load();
	ck_assert_ptr_null(d->booted.id);
	ck_assert_ptr_nonnull(d->booted_why);
}
END_TEST

/* Below a deployment the sysroot is at /sysroot. No file outside of the root is read, even if a link leads there. */
START_TEST(sysroot_below_a_deployment)
{
	g_autofree char *outside = g_build_filename(scratch, "outside", NULL);
	g_autoptr(GbeDeployments) d = NULL;
	g_autoptr(GbeDeployments) out = NULL;

	if (!have_ostree("sysroot-below-a-deployment"))
		return;
	shell(make_sysroot);
	deploy("A", "");
	boot("A", 0);
	shell("mkdir $1/sysroot; mv $1/ostree $1/boot $1/sysroot/");
	d = load();
	ck_assert_uint_eq(d->listed->len, 1);
	ck_assert_ptr_nonnull(d->booted.id);
	ck_assert_int_eq(g_mkdir(outside, 0755), 0);
	{
		g_autofree char *script =
		    g_strdup_printf("mv $1/sysroot/* %s/; rmdir $1/sysroot", outside);

		shell(script);
	}
	root_link("sysroot", outside);
	out = load();
	ck_assert_ptr_null(out->listed);
	ck_assert_ptr_null(out->booted.id);
}
END_TEST

/* $1: the sysroot; A is booted. Becomes the root of this process: a deployment, as at a real boot. */
static const char enter[] =
    "new=$1/../new; mkdir $new\n"
    "mount --bind $(echo $1/ostree/deploy/*/deploy/*.0) $new\n"
    "mount --bind /usr $new/usr; mount --bind $1 $new/sysroot; mount --bind $1/boot $new/boot\n"
    "mount -t proc proc $new/proc; mount --rbind /dev $new/dev; mount -t tmpfs none $new/run; "
    "mount -t tmpfs none $new/tmp\n"
    "touch $new/run/ostree-booted\n"
    /* ostree asks systemd to finalize at shutdown; there is no systemd here. */
    "mkdir $new/run/bin; printf '#!/bin/sh\\nexit 0\\n' >$new/run/bin/systemctl\n"
    "chmod +x $new/run/bin/systemctl\n";

/* Process 1 of its own namespace: the running system. Writes what it finds to @out. */
static int
be_the_system(int out, const char *const *names, const char *const *checksums)
{
	g_autofree char *new_root = g_build_filename(root, "../new", NULL);
	g_autoptr(GbeDeployments) before = NULL;
	g_autoptr(GbeDeployments) after = NULL;
	g_autofree char *first = NULL;
	g_autofree char *second = NULL;
	GbeCmdline cmdline = {NULL};
	int slash;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    RUN("bash", "-euc", enter, "bash", root) != 0 || chroot(new_root) < 0 ||
	    chdir("/") < 0 || !g_setenv("PATH", "/run/bin:/usr/bin:/usr/sbin", true))
		return 10;
	slash = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	before = gbe_deployments_load(slash, "/", &cmdline);
	if (RUN("ostree", "admin", "deploy", "--stage", "--os=" STATEROOT, "os/B") != 0)
		return 11;
	after = gbe_deployments_load(slash, "/", &cmdline);
	if (!g_file_set_contents("/run/ostree/staged-deployment-locked", "", 0, NULL))
		return 12;
	first = describe(before, names, checksums);
	second = describe(after, names, checksums);
	(void)dprintf(out, "%s%s\n%s", first, before->booted.id != NULL ? before->booted.id : "?",
		      second);
	gbe_deployments_free(g_steal_pointer(&after));
	g_free(second);
	after = gbe_deployments_load(slash, "/", &cmdline);
	second = describe(after, names, checksums);
	(void)dprintf(out, "%s", second);
	/* Kept for the same check below --root. */
	return RUN("cp", "/run/ostree/staged-deployment", "/sysroot/staged") == 0 ? 0 : 13;
}

#define NO_NAMESPACES 77

/* A process in between, because one that made a PID namespace can start no processes outside. */
static int
in_namespaces(int out, const char *const *names, const char *const *checksums)
{
	int status = -1;
	pid_t pid;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) < 0)
		return NO_NAMESPACES;
	pid = fork();
	if (pid == 0)
		_exit(be_the_system(out, names, checksums));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 14;
	return WEXITSTATUS(status);
}

START_TEST(the_system_itself)
{
	const char *names[] = {"A", "B", NULL};
	g_autofree char *a = NULL;
	g_autofree char *b = NULL;
	g_autofree char *id = NULL;
	g_autofree char *expected = NULL;
	g_autofree char *saved = root_path("staged");
	g_autofree char *bytes = NULL;
	char found[4096] = "";
	int out[2];
	int status = -1;
	gsize size = 0;
	gssize got = 0;
	pid_t pid;

	if (!have_ostree("the-system-itself"))
		return;
	shell(make_sysroot);
	deploy("A", "");
	a = checksum_of("A");
	b = checksum_of("B");
	id = id_of("A", 0);
	ck_assert_int_eq(pipe(out), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(in_namespaces(out[1], names, (const char *[]){a, b, NULL}));
	(void)close(out[1]);
	for (gsize at = 0; at < sizeof(found) - 1; at += (gsize)got) {
		got = read(out[0], found + at, sizeof(found) - 1 - at);
		if (got <= 0)
			break;
	}
	(void)close(out[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACES) {
		gbe_unit_skip("the-system-itself", "cannot make namespaces here");
		return;
	}
	ck_assert_int_eq(status, 0);
	expected = g_strdup_printf("A.0 booted default program 1700000000\n%s\n"
				   "B.0 staged 1700000100\nA.0 booted default program 1700000000\n"
				   "B.0 staged locked 1700000100\n"
				   "A.0 booted default program 1700000000\n",
				   id);
	ck_assert_str_eq(found, expected);

	/* The same file, read from outside. */
	ck_assert(g_file_get_contents(saved, &bytes, &size, NULL));
	boot("A", 0);
	root_write_bytes("run/ostree/staged-deployment", bytes, size);
	expect("B.0 staged 1700000100\nA.0 booted default program 1700000000\n");
	root_write("run/ostree/staged-deployment-locked", "");
	expect("B.0 staged locked 1700000100\nA.0 booted default program 1700000000\n");
}
END_TEST

/* ostree marks its deployments immutable, so that they cannot be removed directly. */
static void
teardown(void)
{
	(void)RUN("chattr", "-R", "-f", "-i", root);
	root_teardown();
}

static void
unlock_everything(void)
{
	(void)RUN("chattr", "-R", "-f", "-i", scratch);
}

int
main(void)
{
	Suite *suite = suite_create("sys-deployments");
	TCase *files = tcase_create("files");

	tcase_add_unchecked_fixture(files, NULL, unlock_everything);
	tcase_add_checked_fixture(files, root_setup, teardown);
	tcase_set_timeout(files, 120);
	tcase_add_test(files, no_sysroot_at_all);
	tcase_add_test(files, list_and_booted);
	tcase_add_test(files, pinned_and_presence);
	tcase_add_test(files, versions_and_places);
	tcase_add_test(files, reused_serial_has_another_handle);
	tcase_add_test(files, booted_and_not_listed);
	tcase_add_test(files, sysroot_below_a_deployment);
	tcase_add_test(files, the_system_itself);
	suite_add_tcase(suite, files);
	return scratch_main(suite);
}
