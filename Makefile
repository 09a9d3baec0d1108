# SPDX-License-Identifier: LGPL-2.1-or-later
## greenboot-etcd: plain GNU make, no configure step, no root, network or git needed to build.
##
## Targets
##   all                the programs (default)
##   store, certs, cluster  one of the optional programs, with the library that it needs
##   check              check-unit, lint and the selected cases of check-integration, with one total
##   check-all          every test, as CI plays them, in some 50 minutes (root; make deps-all)
##   check-covers       fail if the selected cases missed a verb, rule or promise; last part of check
##   check-unit         the unit tests (libcheck), against a build with fault points
##   check-integration  the programs on real file systems, ostree and etcd (root; skipped without)
##   check-differential N=200 [SEED=1] [CASE=N]  verify against the real etcd, on directories
##                      that were damaged at random (tests/data/etcd)
##   check-histories N=300 [SEED=1] [CASE=N] [PLAY=FILE] [FS=xfs|ext4|both] [ETCD=stand-in|real]
##                      random histories with power cuts, kills and a hostile etcd user, on the real
##                      programs (root; README in tests/histories)
##   check-crash        power cuts, kills and errors at every step of every operation (root; README
##                      in tests/crash)
##   check-guards       remove each guard from the program in turn, and expect a test to fail (root)
##   check-mutations [FILES=GLOB] [N=COUNT] [SEED=1]  make one small mistake at a time in core, app/backup and
##                      app/boot, and count those that no unit test notices (hours; N: a random sample)
##   demo-powercut      for people: a restore during a power cut, compared with mv, cp and rm (root)
##   check-system       systemd boots ostree deployments with etcd and greenboot, in nspawn (root)
##   check-page         the Cockpit page in a browser, on Cockpit's own server (root); pictures in build/page
##   page-pictures      check-page, and the pictures for docs
##   check-vm           GRUB, a kernel, dracut's initramfs and all that in virtual machines (root, QEMU)
##   demo-vm            for people: a bad update there, GRUB's countdown, and the data is back (root)
##   lint               layers, purity, catalog, NEEDED, shellcheck, formatting, ... (tests/lint/)
##   warnings           the whole tree under strict warnings as errors, with gcc and with clang
##   asan               check-unit and check-integration with AddressSanitizer and UBSan
##   valgrind           unit tests and the programs at work under valgrind's memory check (root)
##   fuzz               fuzz every parser for FUZZ_SECONDS (clang); check-unit replays the corpora and findings
##   demo               the rollback story on a real etcd and a real ostree sysroot (root)
##   bench              the figures of docs, compared with the tools that a user would run instead (root)
##   bench-story        the cost of a good and a bad update on a machine with a database of 8 GB (root)
##   completions        write the tables of data/completion from those of the programs
##   holds              write the table of holds into the pages
##   schemas            write data/schema from the tables of the answers; titles and descriptions stay
##   format             rewrite the C sources with clang-format
##   rpm                RPM packages in build/rpm (rpmbuild); NOCHECK=1 skips the unit tests
##   check-rpm          lists and lints them, installs and erases them with rpm, builds images with them (root)
##   deb                Debian packages in build/deb (dpkg-buildpackage); NOCHECK=1 skips the unit tests
##   check-deb          lints them; installs, upgrades and purges them with dpkg in a root of their own (root)
##   source-archive     the tree as a tarball, for rpmbuild
##   dist               a release: HEAD as a tarball in build/dist, and its SHA-256
##   install            install below $(DESTDIR)$(prefix)
##   uninstall          remove the files that install with the same variables writes
##   clean              remove build/
##   deps               install the packages that build, demo and check need (root; apt-get or dnf); other
##                      targets may follow in the same call: make deps demo
##   deps-all           install also the packages that every other target needs, as CI does
##   help               print this
##
## Knobs
##   V=1                show the commands
##   D=asan,ubsan       sanitizers; each combination has its own build directory
##   HARDEN=0           without stack protector, FORTIFY_SOURCE and similar options (never used with sanitizers)
##   FAULTS=1           build the named fault points in (tests only: reads the environment)
##   WERROR=1           warnings are errors (CI)
##   BTRFS=auto|yes|no  use libbtrfsutil (auto: when pkg-config finds it)
##   TEST=GLOB          only the suites with such a name, e.g. TEST='core-*'
##   LEVEL=ci|full|nightly  amount of tests in the suites (default ci; bench: full)
##   -j N               compile N files at the same time (default: one for each processor)
##   JOBS=N             run N suites at the same time (default: one for each processor); twice as many unit
##                      tests and suites that wait for etcd
##   CASES=selected|rest  of check-integration: the cases of tests/integration/selected, or all others (default: all)
##   AGAIN=N            up to N failed cases of suites that boot and wait are played again (default 0; CI: 3)
##   FUZZ_SECONDS=N     seconds for each parser (default 60); or RUNS=N, the number of runs
##   TARGET=NAME        only this parser
##   DEMO_FS=xfs|btrfs|ext4|xfs-noreflink|none  file system of the demo (default xfs)
##   PROGRAMS='store certs cluster'  which optional programs are built, tested and installed (default: all)
##   VARIANT=NAME       build in build/NAME (default: default)
##   CC CFLAGS CPPFLAGS LDFLAGS LDLIBS AR NM OBJCOPY PKG_CONFIG INSTALL  respected, also on the command line:
##                      the build adds the flags that it needs
##
## Directories for install
##   DESTDIR prefix=/usr bindir libexecdir sysconfdir=/etc localstatedir=/var mandir docdir datadir
##   greenbootdir=$(prefix)/lib/greenboot systemdsystemunitdir systemgeneratordir tmpfilesdir
##   catalogdir dracutmodulesdir bashcompletiondir zshcompletiondir fishcompletiondir selinuxdir sosdir cockpitdir metainfodir
##
## The build directory is build/$(VARIANT)[-sanitizers][-faults]. It has greenboot-etcd, hooks/NAME with the shared library,
## hooks/greenboot-etcd-PROGRAM, archives for the tests, and tests/unit/NAME. Logs of the tests are in
## build/test-logs[-sanitizers].

VERSION := 0.2.1

MAKEFLAGS += --no-print-directory
# Without -j there are as many jobs as processors. A recursive make uses the jobs of its parent.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS) $(shell echo "$$MAKEFLAGS")),0)
MAKEFLAGS := $(MAKEFLAGS) -j$(shell nproc)
endif
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

.PHONY: help
help:
	@sed -n 's/^## \{0,1\}//p' Makefile

# "make deps demo" has to work without a compiler and without pkg-config, also with -j. If deps is among the goals, make
# reads nothing below. A second make starts after deps and makes the other goals.
deps_goals := $(filter deps deps-all,$(MAKECMDGOALS))
ifneq ($(deps_goals),)

after_deps := $(filter-out $(deps_goals),$(MAKECMDGOALS))

.PHONY: deps deps-all after-deps $(after_deps)
deps:
	@sh .ci/install-deps
deps-all:
	@sh .ci/install-deps all

ifneq ($(after_deps),)
after-deps: $(deps_goals)
	+@$(MAKE) $(after_deps)
$(after_deps): after-deps
	@:
endif

else

# ---- knobs ---------------------------------------------------------------------------------------

V ?= 0
D ?=
HARDEN ?= 1
FAULTS ?= 0
WERROR ?= 0
BTRFS ?= auto
TEST ?=
LEVEL ?= $(if $(filter bench,$(MAKECMDGOALS)),full,ci)
CASES ?=
JOBS ?= $(call once,processors,$(shell nproc))
FUZZ_SECONDS ?= 60
RUNS ?=
TARGET ?=
VARIANT ?= default
PROGRAMS ?= store certs cluster
PKG_CONFIG ?= pkg-config
INSTALL ?= install

prefix ?= /usr
bindir ?= $(prefix)/bin
libexecdir ?= $(prefix)/libexec
sysconfdir ?= /etc
localstatedir ?= /var
datadir ?= $(prefix)/share
mandir ?= $(datadir)/man
docdir ?= $(datadir)/doc/greenboot-etcd
greenbootdir ?= $(prefix)/lib/greenboot
systemdsystemunitdir ?= $(prefix)/lib/systemd/system
systemgeneratordir ?= $(prefix)/lib/systemd/system-generators
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
catalogdir ?= $(prefix)/lib/systemd/catalog
dracutmodulesdir ?= $(prefix)/lib/dracut/modules.d
bashcompletiondir ?= $(datadir)/bash-completion/completions
# Debian's zsh reads vendor-completions, others read site-functions.
zshcompletiondir ?= $(datadir)/zsh/$(if $(wildcard /usr/share/zsh/vendor-completions),vendor-completions,site-functions)
fishcompletiondir ?= $(datadir)/fish/vendor_completions.d
selinuxdir ?= $(datadir)/selinux/packages/targeted
# The directory of sos's plugins depends on the version of Python, so the package sets it.
sosdir ?= $(datadir)/greenboot-etcd/sos
cockpitdir ?= $(datadir)/cockpit/greenboot-etcd
metainfodir ?= $(datadir)/metainfo

CFLAGS ?= -O2 -g
NM ?= nm
OBJCOPY ?= objcopy

comma := ,
empty :=
space := $(empty) $(empty)
sanitizers := $(subst $(comma), ,$(D))
ifneq ($(filter-out asan ubsan,$(sanitizers)),)
$(error D=$(D): known are asan and ubsan, separated by a comma)
endif
ifeq ($(filter auto yes no,$(BTRFS)),)
$(error BTRFS=$(BTRFS): auto, yes or no)
endif
ifneq ($(filter-out store certs cluster,$(PROGRAMS)),)
$(error PROGRAMS=$(PROGRAMS): known are store, certs and cluster)
endif
ifeq ($(filter cluster,$(PROGRAMS))$(filter certs,$(PROGRAMS)),cluster)
$(error PROGRAMS=$(PROGRAMS): cluster needs certs)
endif
ifeq ($(filter ci full nightly,$(LEVEL)),)
$(error LEVEL=$(LEVEL): ci, full or nightly)
endif

suffix := $(addprefix -,$(subst $(space),-,$(strip $(sanitizers))))
plain := build/$(VARIANT)$(suffix)
B := $(plain)$(if $(filter 1,$(FAULTS)),-faults)
logs := build/test-logs$(suffix)

Q := $(if $(filter 1,$(V)),,@)
quote = '$(subst ','\'',$(1))'
# Empty with V=1, which shows the command, and with make -s.
silent := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say = $(if $(filter 1,$(V))$(silent),,@printf '  %-8s %s\n' '$(1)' '$(2)')

# These targets start a make in the same build directory, so they run one after the other, each with all jobs of -j.
ifneq ($(word 2,$(MAKECMDGOALS)),)
ifneq ($(filter check check-% lint warnings asan fuzz demo demo-powercut bench install uninstall clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
endif

# ---- flags ---------------------------------------------------------------------------------------

# pkg-config runs once, when a recipe first needs it, and not while make reads this file: clean and help work without it.
pkg_modules := glib-2.0 gio-2.0 gio-unix-2.0 json-glib-1.0 ostree-1 libsystemd libcurl libcrypto \
	libarchive yaml-0.1
pkg = $(shell $(PKG_CONFIG) $(1))$(if $(filter-out 0,$(.SHELLSTATUS)),$(error \
	"$(PKG_CONFIG) $(1)" failed: run "make deps" as root, or install what .ci/deps.list names))
once = $(eval $(1) := $$(2))$($(1))

have_btrfsutil = $(call once,have_btrfsutil,$(if $(filter no,$(BTRFS)),no,$(if $(filter \
	yes,$(BTRFS)),yes,$(shell $(PKG_CONFIG) --exists libbtrfsutil && echo yes || echo no))))
modules = $(pkg_modules) $(if $(filter yes,$(have_btrfsutil)),libbtrfsutil)
pkg_cflags = $(call once,pkg_cflags,$(call pkg,--cflags $(modules)))
pkg_libs = $(call once,pkg_libs,$(call pkg,--libs $(modules)))
check_cflags = $(call once,check_cflags,$(call pkg,--cflags check))
check_libs = $(call once,check_libs,$(call pkg,--libs check))

# tests/lint/canary.sh proves that each of these works in gcc and in clang. (clang lacks some of them.)
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wformat=2 -Wformat-signedness -Wpointer-arith -Wundef -Wvla \
	-Wswitch-enum -Wimplicit-fallthrough -Wwrite-strings -Wdate-time \
	-Wno-unused-parameter -Wno-missing-field-initializers \
	$(if $(findstring clang,$(CC)),-Wno-unknown-warning-option) \
	$(if $(filter 1,$(WERROR)),-Werror)

# GLib's API is limited to that of RHEL 9. _GNU_SOURCE is empty so that a file may also define it.
gbe_cppflags := -Isrc -D_GNU_SOURCE= -D_FILE_OFFSET_BITS=64 -DGBE_VERSION='"$(VERSION)"' \
	-DGLIB_VERSION_MIN_REQUIRED=GLIB_VERSION_2_68 -DGLIB_VERSION_MAX_ALLOWED=GLIB_VERSION_2_68
gbe_cflags := -std=gnu11 -fPIC -fno-strict-aliasing -ffunction-sections -fdata-sections $(warnings)
gbe_ldflags := -Wl,--gc-sections -Wl,--as-needed -Wl,-z,now -Wl,-z,relro

# The flags of Fedora and Debian. CFLAGS can undo each of them. Flags that the compiler does not know for this processor
# are left out. (The linker has options for PIE, RELRO and immediate binding.)
knows = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -xc -c - -o /dev/null 2>/dev/null && echo $(1))
hardening = $(if $(filter 1,$(HARDEN)),$(if $(sanitizers),,$(call once,hardening,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 \
	-fstack-protector-strong $(foreach f,-fstack-clash-protection -fcf-protection -mbranch-protection=standard,$(call knows,$(f))))))

ifneq ($(sanitizers),)
sanitize := -fsanitize=$(subst $(space),$(comma),$(patsubst \
	ubsan,undefined,$(patsubst asan,address,$(sanitizers)))) \
	-fno-omit-frame-pointer -fno-sanitize-recover=all
gbe_cflags += $(sanitize)
gbe_ldflags += $(sanitize)
endif

# Relocations need a tenth of the space, if linker and C library support this format (binutils 2.38, glibc 2.36).
packed := -Wl,-z,pack-relative-relocs
hash := \#
probe := $(hash)include <features.h>\n$(hash)if !__GLIBC_PREREQ(2, 36)\n$(hash)error\n$(hash)endif\nint main(void) { return 0; }
relocations = $(call once,relocations,$(shell printf '$(probe)\n' | $(CC) -xc -fPIC -pie - $(packed) \
	-Wl,--fatal-warnings $(LDFLAGS) -o /dev/null 2>/dev/null && echo $(packed)))

all_cppflags = $(gbe_cppflags) $(if $(findstring -faults/,$@),-DGBE_FAULTS) $(if $(filter yes,$(have_btrfsutil)),-DHAVE_BTRFSUTIL) \
	$(pkg_cflags) $(CPPFLAGS)
all_cflags = $(gbe_cflags) $(hardening) $(CFLAGS)
compile = $(CC) $(all_cppflags) $(all_cflags)
link = $(CC) $(all_cflags) -pie $(gbe_ldflags) $(relocations) $(LDFLAGS)
link_shared = $(CC) $(all_cflags) -shared $(gbe_ldflags) $(relocations) -Wl,--no-undefined \
	-Wl,-Bsymbolic-functions $(LDFLAGS)

# ---- sources -------------------------------------------------------------------------------------

layers := core base fs etcd sys app
# The sources that all programs share. Of src/cli, the command's table of verbs and the verbs belong to the command alone.
cli_sources := src/cli/verbs.c $(wildcard src/cli/verbs/*.c)
lib_sources := $(wildcard $(layers:%=src/%/*.c) $(layers:%=src/%/*/*.c)) $(filter-out src/cli/verbs.c,$(wildcard src/cli/*.c))
# The command in the initramfs has its own table of verbs, and these sources.
initramfs_sources := $(wildcard src/initramfs/*.c)
initramfs_cli := $(wildcard $(addprefix src/cli/verbs/verb-,backup.c list.c show.c verify.c))
# An optional program: main.c, and the rest of its folder as an archive.
optional_mains := $(PROGRAMS:%=src/%/main.c)
optional_rest = $(filter-out src/$(1)/main.c,$(wildcard src/$(1)/*.c src/$(1)/*/*.c))
optional_sources := $(foreach p,$(PROGRAMS),$(call optional_rest,$(p)))
hook_sources := $(wildcard hooks/*.c)
# $(call tests_of,KIND,PATTERN): the tests of an optional program lie in a directory of its name.
tests_of = $(wildcard tests/$(1)/$(2) $(PROGRAMS:%=tests/$(1)/%/$(2)))
unit_sources := $(call tests_of,unit,*.c)
# One target of libFuzzer each: tests/fuzz/NAME.c, with its corpus in tests/fuzz/NAME/.
fuzz_sources := $(call tests_of,fuzz,*.c)
# Small C programs that suites start, e.g. one that holds a lock.
helper_sources := $(wildcard tests/integration/*.c tests/demo/*.c tests/bench/*.c)
# Prints the tables of all answers, for the schemas.
answers_source := tests/schemas/answers.c
# A disk that records its writes, and the programs that examine the result.
crash_sources := $(wildcard tests/crash/*.c)

# A file of src without fault points is the same in both builds and is compiled once. Files with fault points are compiled
# into a directory whose name ends in -faults.
faulty = $(call once,faulty,$(shell grep -l 'include "base/fault\.h"' $(wildcard src/*/*.c src/*/*/*.c)))
objects = $(foreach s,$(1),$(if $(filter-out $(faulty),$(filter src/%,$(s))),$(plain),$(B))/$(s:.c=.o))

# The programs share a private library, as systemd's do (libsystemd-shared): one copy of the code on the disk and in memory.
# The version is in its name, so that the library of another version is never loaded. Tests link the archive, which has
# every symbol.
library := $(B)/libgreenboot-etcd.a
shared_name := libgreenboot-etcd-$(VERSION).so
shared := $(B)/hooks/$(shared_name)
exports := $(B)/exports
# The programs look for the library in their own directory. The installed command looks in libexec.
rpath_hook := -Wl,-rpath,'$$ORIGIN'
rpath_cli = -Wl,-rpath,'$$ORIGIN/$(shell realpath -m --relative-to='$(bindir)' \
	'$(libexecdir)/greenboot-etcd')'
cli := $(if $(cli_sources),$(B)/greenboot-etcd)
hooks := $(patsubst %.c,$(B)/%,$(hook_sources))
generator := $(filter %/hooks/generator,$(hooks))
initramfs := $(if $(initramfs_sources),$(B)/hooks/initramfs)
optional := $(PROGRAMS:%=$(B)/hooks/greenboot-etcd-%)
# The second verb of cluster.
member := $(if $(filter cluster,$(PROGRAMS)),$(B)/hooks/greenboot-etcd-member)
# cluster may use the code of certs.
archives_of = $(patsubst %,$(B)/libgreenboot-etcd-%.a,$(1) $(if $(filter cluster,$(1)),certs))
# UNIT: a pattern; only matching programs are made.
units := $(patsubst %.c,$(B)/%,$(if $(UNIT),$(call tests_of,unit,$(UNIT).c),$(unit_sources)))
# They play the corpora.
replays := $(patsubst tests/fuzz/%.c,$(B)/tests/unit/fuzz-%,$(wildcard tests/fuzz/*.c)) $(foreach p,$(PROGRAMS),$(patsubst \
	tests/fuzz/$(p)/%.c,$(B)/tests/unit/$(p)/$(p)-fuzz-%,$(wildcard tests/fuzz/$(p)/*.c)))
fuzzers := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(fuzz_sources))
helpers := $(patsubst %.c,$(B)/%,$(helper_sources))
# Only with all programs, because it has the tables of all.
answers := $(if $(filter 3,$(words $(PROGRAMS))),$(B)/tests/schemas/answers)
crash_programs := $(addprefix $(B)/tests/crash/,blocklog commits look)
all_objects := $(call objects,$(lib_sources) $(cli_sources) $(optional_mains) $(optional_sources) $(initramfs_sources) $(hook_sources) $(unit_sources) \
	$(helper_sources) $(answers_source) $(fuzz_sources) $(crash_sources) tests/lib/replay.c)

# ---- build ---------------------------------------------------------------------------------------

.PHONY: $(PROGRAMS)
$(PROGRAMS): %: $(B)/hooks/greenboot-etcd-%
	@:

.PHONY: all unit-programs helper-programs answers-program crash-programs objects FORCE
all: $(library) $(foreach p,$(PROGRAMS),$(call archives_of,$(p))) $(cli) $(hooks) $(initramfs) $(optional) $(member)
	@rm -f $(filter-out $(optional) $(member),$(wildcard $(B)/hooks/greenboot-etcd-*))

unit-programs: $(units) $(replays)
	@:
helper-programs: $(helpers)
	@:
answers-program: $(answers)
	@:
crash-programs: $(crash_programs)
	@:
objects: $(all_objects)
	@:

# Changes only when a flag changes. Then everything is compiled again.
$(sort $(plain)/flags $(B)/flags): FORCE
	@mkdir -p $(@D)
	@new=$(call quote,$(compile) | $(link) $(LDLIBS) $(pkg_libs) | $(AR)); \
	[ "$$new" = "$$(cat $@ 2>/dev/null)" ] || printf '%s\n' "$$new" >$@

define compile_into
$(1)/%.o: %.c $(1)/flags
	$$(call say,CC,$$<)
	@mkdir -p $$(@D)
	$$(Q)$$(compile) $$(if $$(filter tests/%,$$<),-Itests $$(check_cflags)) $$(own_cflags) -MMD -MP -c -o $$@ $$<
endef
$(foreach directory,$(sort $(plain) $(B)),$(eval $(call compile_into,$(directory))))

# The archive is made from nothing each time, so that a removed module is not left in it.
$(library): $(call objects,$(lib_sources))
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

define rules_of
$(B)/libgreenboot-etcd-$(1).a: $(call objects,$(call optional_rest,$(1)))
	$$(call say,AR,$$@)
	@rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
$(B)/hooks/greenboot-etcd-$(1): $(call objects,src/$(1)/main.c)
$(filter $(B)/tests/unit/$(1)/$(1)-fuzz-%,$(replays)): $(B)/tests/unit/$(1)/$(1)-fuzz-%: $(B)/tests/fuzz/$(1)/%.o
$(filter $(B)/hooks/greenboot-etcd-$(1) $(B)/tests/unit/$(1)/% $(B)/fuzz/$(1)/%,$(optional) $(units) $(replays) $(fuzzers)): \
	$(call archives_of,$(1))
endef
$(foreach p,$(PROGRAMS),$(eval $(call rules_of,$(p))))

# The symbols that programs use. The linker leaves out code that only tests call. With other PROGRAMS they are others.
$(exports): $(call objects,$(cli_sources) $(hook_sources) $(optional_mains) $(optional_sources)) FORCE
	@$(NM) -u $(filter %.o,$^) | sed -n 's/^ *U \(gbe_[a-z0-9_]*\)$$/\1;/p' | sort -u | \
		{ echo '{ global:' && cat && echo 'local: *; };'; } >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# --no-undefined fails if the library needs a symbol of a program.
$(shared): $(call objects,$(lib_sources)) $(exports)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link_shared) -Wl,-soname,$(shared_name) -Wl,--version-script=$(exports) -o $@ \
		$(filter %.o,$^) $(LDLIBS) $(pkg_libs)

$(B)/greenboot-etcd: $(call objects,$(cli_sources)) $(shared) $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -Wl,-rpath,'$$ORIGIN/hooks' -o $@ $^ $(LDLIBS) $(pkg_libs)

# These programs have a dozen lines each, so code and constants share a page.
$(filter-out $(generator),$(hooks)): $(B)/%: $(B)/%.o $(shared) $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -Wl,-z,noseparate-code $(rpath_hook) -o $@ $^ $(LDLIBS) $(pkg_libs)

$(optional): $(shared) $(library)
	$(call say,LINK,$@)
	$(Q)$(link) $(rpath_hook) -o $@ $(filter-out $(shared) $(library),$^) $(shared) $(library) $(LDLIBS) $(pkg_libs)

$(member): $(B)/hooks/greenboot-etcd-cluster
	@ln -sf $(<F) $@

# systemd starts the generator first at each boot and reload, from another directory. So it is linked statically with the
# archive, and is as small as possible.
$(generator): $(B)/%: $(B)/%.o $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -Wl,-z,noseparate-code -o $@ $^ $(LDLIBS) $(pkg_libs)

# The command with fewer verbs is linked with the archive, without libraries that an initramfs lacks. Its replacements for
# their callers come first, so that the linker does not take those from the archive.
$(initramfs): $(call objects,$(initramfs_sources) $(initramfs_cli)) $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -o $@ $^ $(LDLIBS) $(pkg_libs)

$(helpers): $(B)/%: $(B)/%.o $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -o $@ $^ $(LDLIBS) $(pkg_libs)

# The tables of the optional programs are in their main files, which are linked here without their main function.
mains_as_parts := $(PROGRAMS:%=$(B)/tests/schemas/main-%.o)
$(mains_as_parts): $(B)/tests/schemas/main-%.o: $(plain)/src/%/main.o
	@mkdir -p $(@D)
	$(Q)$(OBJCOPY) --redefine-sym main=main_of_$* $< $@
$(answers): $(B)/%: $(B)/%.o $(call objects,$(filter-out src/cli/verbs.c,$(cli_sources))) $(mains_as_parts) \
	$(foreach p,$(PROGRAMS),$(B)/libgreenboot-etcd-$(p).a) $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LDLIBS) $(pkg_libs)

# Only this test program uses FUSE.
$(B)/tests/crash/serve.o: private own_cflags = $(call pkg,--cflags fuse3)
$(B)/tests/crash/blocklog: private own_libs = $(call pkg,--libs fuse3)
$(B)/tests/crash/blocklog: $(addprefix $(B)/tests/crash/,serve.o disk.o states.o)
$(crash_programs): $(B)/%: $(B)/%.o $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -o $@ $(filter %.o,$^) $(library) $(LDLIBS) $(own_libs) $(pkg_libs)

# A unit of the base that needs an optional program does not link.
$(units): $(B)/%: $(B)/%.o $(library)
	$(call say,LINK,$@)
	$(Q)$(link) -o $@ $(filter-out $(library),$^) $(library) $(LDLIBS) $(check_libs) $(pkg_libs)

$(filter $(B)/tests/unit/fuzz-%,$(replays)): $(B)/tests/unit/fuzz-%: $(B)/tests/fuzz/%.o
$(replays): $(B)/tests/lib/replay.o $(library)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link) -o $@ $(filter %.o,$^) $(filter-out %.o $(library),$^) $(library) $(LDLIBS) $(check_libs) $(pkg_libs)

$(fuzzers): $(B)/fuzz/%: $(B)/tests/fuzz/%.o $(library)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(link) -fsanitize=fuzzer -o $@ $(filter-out $(library),$^) $(library) $(LDLIBS) $(pkg_libs)

# After a file was removed, make compiles its users again instead of stopping.
-include $(all_objects:.o=.d)

# Prints the flags of the build for lint.
.PHONY: print-compile print-version
print-compile:
	@printf '%s\n' $(call quote,$(compile))
print-version:
	@printf '%s\n' '$(VERSION)'

# ---- tests ---------------------------------------------------------------------------------------

# The environment of every suite. BUILD: the programs as they are installed; BUILD_FAULTS: the same with fault points, and
# the unit test programs in tests/unit.
# (verify_asan_link_order: a device's clock is preloaded, so it comes before ASan's runtime.)
test_env = TOP='$(CURDIR)' BUILD='$(CURDIR)/$(plain)' BUILD_FAULTS='$(CURDIR)/$(plain)-faults' \
	LEVEL='$(LEVEL)' JOBS='$(JOBS)' V='$(V)' TEST='$(TEST)' CASES='$(CASES)' SANITIZERS='$(D)' VARIANT='$(VARIANT)' PROGRAMS='$(PROGRAMS)' \
	GBE_TEST_DATA='$(CURDIR)/tests/data' TEST_LOGS='$(CURDIR)/$(logs)' CC='$(CC)' \
	ASAN_OPTIONS="$${ASAN_OPTIONS:-detect_leaks=$(1):verify_asan_link_order=0}" \
	UBSAN_OPTIONS="$${UBSAN_OPTIONS:-print_stacktrace=1}"
run_suites = $(call test_env,$(1)) tests/run-suites
run_waiting = $(call test_env,$(1)) JOBS=$$((2 * $(JOBS))) tests/run-suites

.PHONY: check check-all check-covers check-unit check-integration check-differential check-histories check-crash \
	check-system check-vm check-page page-pictures os-programs check-guards check-mutations demo-powercut demo-vm bench-story schemas holds lint warnings asan valgrind fuzz fuzzers demo bench completions format
# Without a choice of the caller, the selected cases of the integration suites are played, and check-covers follows.
selection := $(if $(TEST)$(CASE)$(CASES)$(filter-out ci,$(LEVEL))$(filter-out 3,$(words $(PROGRAMS))),,selected)
check:
	@rm -rf $(logs)
	+@status=0; \
	for part in check-unit lint check-integration $(if $(selection),check-covers); do \
		$(MAKE) $$part NO_SUITE_IS_FINE=$(if $(TEST),1) CASES='$(or $(selection),$(CASES))' || status=1; \
	done; \
	tests/run-totals $(logs)/unit $(logs)/lint $(logs)/integration $(if $(selection),$(logs)/covers) || status=1; \
	exit $$status

check-covers:
	@$(call test_env,0) CASES= tests/run-suites covers tests/covers

check-all:
	@tests/all

check-unit:
	+@$(MAKE) FAULTS=1 UNIT='$(TEST)' unit-programs
	@NO_SUITE_IS_FINE='$(NO_SUITE_IS_FINE)' $(call run_waiting,1) unit \
		$(patsubst %.c,$(plain)-faults/%,$(unit_sources)) $(patsubst $(B)/%,$(plain)-faults/%,$(replays))

# The longest suites begin first, so that the run does not wait for them at the end.
integration_suites := $(call tests_of,integration,*.sh)
integration_first := $(filter $(integration_suites),$(patsubst %,tests/integration/%.sh,damage fs store/store-bucket upkeep run \
	budget certs cluster/cluster-devices certs/certs-pki))
check-integration:
	+@$(MAKE) FAULTS=0 all helper-programs
	+@$(MAKE) FAULTS=1 all unit-programs
	@NO_SUITE_IS_FINE='$(NO_SUITE_IS_FINE)' $(call run_waiting,0) integration \
		$(integration_first) $(filter-out $(integration_first),$(shell ls -S $(integration_suites)))

check-differential:
	+@$(MAKE) FAULTS=0 all
	@$(call test_env,0) N='$(N)' SEED='$(SEED)' CASE='$(CASE)' tests/differential/run

check-histories:
	+@$(MAKE) FAULTS=1 all
	@$(call test_env,0) N='$(N)' SEED='$(SEED)' CUTS='$(CUTS)' CASE='$(CASE)' PLAY='$(PLAY)' FS='$(FS)' ETCD='$(ETCD)' \
		SHRINK='$(SHRINK)' tests/histories/run

crash_first := $(patsubst %,tests/crash/on-%.sh,xfs btrfs ext4)
check-crash:
	+@$(MAKE) FAULTS=0 all crash-programs
	+@$(MAKE) FAULTS=1 all
	@SUITE_TIMEOUT=$(if $(filter ci,$(LEVEL)),1800,14400) $(call test_env,0) tests/crash/run \
		$(crash_first) $(filter-out $(crash_first),$(wildcard tests/crash/on-*.sh)) tests/crash/disk-killed.sh

check-guards:
	+@$(MAKE) FAULTS=0 all crash-programs
	+@$(MAKE) FAULTS=1 all unit-programs
	@$(call test_env,0) tests/crash/mutations

# A process that ends with _exit() would not tell which lines it has reached.
check-mutations:
	+@$(MAKE) FAULTS=1 UNIT='$(TEST)' unit-programs
	+@$(MAKE) VARIANT=coverage HARDEN=0 CFLAGS='-O0 --coverage -D_exit=exit' FAULTS=1 UNIT='$(TEST)' unit-programs
	@$(call test_env,0) FILES='$(FILES)' N='$(N)' SEED='$(SEED)' LONGEST='$(LONGEST)' \
		BUILD_COVERAGE='$(CURDIR)/build/coverage-faults' COMPILE=$(call quote,$(compile)) \
		LIBRARIES=$(call quote,$(LDLIBS) $(check_libs) $(pkg_libs)) tests/mutations/run

demo-powercut:
	+@$(MAKE) all crash-programs
	@$(call test_env,0) tests/crash/demo-powercut

# The programs for the images that boot, as they are installed, with fault points and without.
os-programs:
	@rm -rf build/system
	+@$(MAKE) FAULTS=0 install DESTDIR='$(CURDIR)/build/system/program' prefix=/usr
	+@$(MAKE) FAULTS=1 install DESTDIR='$(CURDIR)/build/system/faults' prefix=/usr

system_first := $(patsubst %,tests/system/%.sh,returns cuts upgrades rehearse)
check-system: os-programs
	@NO_SUITE_IS_FINE='$(NO_SUITE_IS_FINE)' OS_PROGRAMS='$(CURDIR)/build/system' \
		$(call run_suites,0) system $(system_first) $(filter-out $(system_first),$(wildcard tests/system/*.sh))

vm_first := $(patsubst %,tests/vm/%.sh,cuts rehearse updates)
check-vm: os-programs
	@NO_SUITE_IS_FINE='$(NO_SUITE_IS_FINE)' OS_PROGRAMS='$(CURDIR)/build/system' \
		$(call run_suites,0) vm $(vm_first) $(filter-out $(vm_first),$(wildcard tests/vm/*.sh))

check-page:
	+@$(MAKE) FAULTS=0 all
	@NO_SUITE_IS_FINE='$(NO_SUITE_IS_FINE)' CASE='$(CASE)' $(call run_suites,0) page tests/page/page.sh

page-pictures: check-page
	pngquant --force --strip --speed 1 --output docs/cockpit.png 64 build/page/cockpit.png
	pngquant --force --strip --speed 1 --output docs/cockpit-dark.png 64 build/page/cockpit-dark.png

demo-vm: os-programs
	@OS_PROGRAMS='$(CURDIR)/build/system' $(call test_env,0) tests/vm/demo

bench-story: os-programs
	+@$(MAKE) helper-programs FAULTS=0
	@OS_PROGRAMS='$(CURDIR)/build/system' $(call test_env,0) tests/bench/story

schemas:
	+@$(MAKE) FAULTS=0 D= answers-program
	@$(plain)/tests/schemas/answers >build/answers.json
	@python3 tests/schemas/merge.py build/answers.json data/schema

# The two longest checks begin first, so that the run does not wait for them at the end.
lint_first := tests/lint/warnings.sh tests/lint/shellcheck.sh
lint:
	+@$(MAKE) FAULTS=0 D= all answers-program
	+@NO_SUITE_IS_FINE='$(NO_SUITE_IS_FINE)' MAKE='$(MAKE)' $(call run_suites,0) lint \
		$(lint_first) $(filter-out $(lint_first),$(wildcard tests/lint/*.sh))

warnings:
	+@$(MAKE) VARIANT=warnings-gcc CC=gcc WERROR=1 FAULTS=1 D= objects
	+@$(MAKE) VARIANT=warnings-clang CC=clang WERROR=1 FAULTS=1 D= objects

asan:
	+@status=0; \
	for part in check-unit check-integration; do $(MAKE) D=asan,ubsan $$part || status=1; done; \
	tests/run-totals build/test-logs-asan-ubsan/unit build/test-logs-asan-ubsan/integration || \
		status=1; \
	exit $$status

valgrind:
	+@$(MAKE) FAULTS=0 all helper-programs
	+@$(MAKE) FAULTS=1 all unit-programs
	@CASE='$(CASE)' SUITES='$(SUITES)' $(call test_env,0) tests/valgrind/run \
		$(patsubst %.c,$(plain)-faults/%,$(unit_sources))

# Findings and new files of the corpus are in build/fuzz-asan-ubsan/found/NAME.
fuzzers: $(fuzzers)
	@:
fuzz:
	+@$(MAKE) VARIANT=fuzz CC=clang D=asan,ubsan FAULTS=0 \
		CFLAGS='-O1 -g -fsanitize=fuzzer-no-link' fuzzers
	@status=0; \
	for name in $(if $(TARGET),$(TARGET),$(patsubst tests/fuzz/%.c,%,$(fuzz_sources))); do \
		found=build/fuzz-asan-ubsan/found/$$name; \
		mkdir -p $$found; \
		echo "== $$name"; \
		build/fuzz-asan-ubsan/fuzz/$$name -timeout=10 \
			$(if $(RUNS),-runs=$(RUNS),-max_total_time=$(FUZZ_SECONDS)) \
			-rss_limit_mb=512 -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=$$found/ $$found tests/fuzz/$$name || status=1; \
	done; \
	exit $$status

demo:
	+@$(MAKE) all helper-programs
	@$(call test_env,0) tests/demo/run

bench:
	+@$(MAKE) all helper-programs
	@$(call test_env,0) tests/bench/run

format:
	clang-format -i $(filter-out tests/lint/%,$(wildcard src/*/*.[ch] src/*/*/*.[ch] hooks/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch]))

holds:
	+@$(MAKE) FAULTS=0 D= answers-program
	@$(plain)/tests/schemas/answers holds >build/holds.json
	@python3 data/holds.py build/holds.json .

completions:
	+@$(MAKE) FAULTS=0 D= all
	@data/completion/generate $(plain)

# ---- install -------------------------------------------------------------------------------------

# The files name the default directories; with other directories, the names follow.
relocate = sed -e 's|/usr/libexec/greenboot-etcd|$(libexecdir)/greenboot-etcd|g' \
	-e 's|/usr/bin/greenboot-etcd|$(bindir)/greenboot-etcd|g'
# Links of the documentation lead to the installed file. Without one, only the text of the link stays.
relink = sed -E -e 's@\]\((\.\./)?data/(examples|image)@](\1examples@g' \
	-e 's@\[([^][]*)\]\((\.\./)?(\.ci|data|greenboot\.d|hooks|rpm|src|tests|CONTRIBUTING|LICENSE)[^()]*\)@\1@g'

# The list of installed files, for both targets, which define put, put_text, put_docs and put_link.
# $(call put,MODE,FILES,DIRECTORY) does nothing without files. put_text replaces the directories in the text, and adds $(4)
# before the names. put_docs replaces the links. put_link is $(call put_link,TARGET,FILE).
define installation
	$(Q)$(call put,0755,$(B)/installed/greenboot-etcd,$(bindir))
	$(Q)$(call put,0755,$(shared) $(plain_hooks),$(libexecdir)/greenboot-etcd)
	$(Q)$(if $(filter cluster,$(PROGRAMS)),$(call put_link,greenboot-etcd-cluster,$(libexecdir)/greenboot-etcd/greenboot-etcd-member))
	$(Q)$(call put,0755,$(if $(generator),$(B)/installed/greenboot-etcd-generator),$(systemgeneratordir))
	$(Q)$(foreach d,$(sort $(dir $(shims))),$(call put_text,0755,$(filter \
		$(d)%,$(wildcard $(d)*.sh)),$(greenbootdir)/$(patsubst greenboot.d/%/,%,$(d))) &&) :
	$(Q)$(call put_text,0644,$(unit_files),$(systemdsystemunitdir),greenboot-etcd-)
	$(Q)$(foreach d,$(wildcard dracut/*/),$(call put_text,0755,$(wildcard \
		$(d)*.sh),$(dracutmodulesdir)/$(patsubst dracut/%/,%,$(d))) &&) :
	$(Q)$(foreach d,$(wildcard dracut/*/),$(call put_text,0644,$(wildcard $(d)*.service \
		$(d)*.conf),$(dracutmodulesdir)/$(patsubst dracut/%/,%,$(d))) &&) :
	$(Q)$(call put,0644,$(wildcard data/*.catalog),$(catalogdir))
	$(Q)$(call put_text,0644,$(wildcard data/tmpfiles.d/*.conf),$(tmpfilesdir))
	$(Q)$(call put_text,0644,data/completion/greenboot-etcd,$(bashcompletiondir))
	$(Q)$(call put_text,0644,data/completion/_greenboot-etcd,$(zshcompletiondir))
	$(Q)$(call put_text,0644,data/completion/greenboot-etcd.fish,$(fishcompletiondir))
	$(Q)$(call put,0644,$(wildcard data/schema/*.json),$(datadir)/greenboot-etcd/schema)
	$(Q)$(call put,0644,$(wildcard data/monitoring/*),$(datadir)/greenboot-etcd/monitoring)
	$(Q)$(call put,0644,$(wildcard data/selinux/*.cil),$(selinuxdir))
	$(Q)$(call put,0644,$(wildcard data/sos/*.py),$(sosdir))
	$(Q)$(call put,0644,$(wildcard data/cockpit/greenboot-etcd/*),$(cockpitdir))
	$(Q)$(call put,0644,$(wildcard data/cockpit/*.metainfo.xml),$(metainfodir))
	$(Q)$(call put,0644,$(wildcard data/examples/* data/image/*),$(docdir)/examples)
	$(Q)$(call put,0644,$(filter-out %.md,$(wildcard docs/*)),$(docdir)/docs)
	$(Q)$(call put_docs,0644,$(wildcard docs/*.md),$(docdir)/docs)
	$(Q)$(call put_docs,0644,README.md NEWS.md,$(docdir))
	$(Q)$(foreach n,1 5 7 8,$(call put,0644,$(filter \
		%.$(n),$(man_pages)),$(mandir)/man$(n)) &&) :
endef

plain_hooks := $(filter-out $(generator),$(hooks)) $(initramfs) $(optional)
shims := $(wildcard greenboot.d/*/*.sh greenboot.d/*/*/*.sh)
unit_files := $(wildcard $(foreach d,hooks $(PROGRAMS:%=hooks/%),$(d)/*.service $(d)/*.path $(d)/*.timer $(d)/*.target))
absent := $(filter-out $(PROGRAMS),store certs cluster)
man_pages := $(filter-out $(absent:%=data/man/greenboot-etcd-%.8),$(wildcard data/man/*.[1-8]))

.PHONY: install uninstall
install: put = $(if $(strip $(2)),$(INSTALL) -d '$(DESTDIR)$(3)' && \
	$(INSTALL) -m $(1) $(2) '$(DESTDIR)$(3)',:)
install: put_through = $(if $(strip $(2)),$(INSTALL) -d '$(DESTDIR)$(3)' && t=$$(mktemp) && for f in $(2); do \
	$(5) "$$f" >"$$t" && \
	$(INSTALL) -m $(1) "$$t" '$(DESTDIR)$(3)'/$(4)"$$(basename "$$f")" || exit 1; \
	done && rm -f "$$t",:)
install: put_text = $(call put_through,$(1),$(2),$(3),$(4),$(relocate))
install: put_docs = $(call put_through,$(1),$(2),$(3),,$(relink))
install: put_link = ln -sf '$(1)' '$(DESTDIR)$(2)'
install: all
	$(Q)mkdir -p $(B)/installed
	$(Q)$(link) $(rpath_cli) -o $(B)/installed/greenboot-etcd $(call objects,$(cli_sources)) \
		$(shared) $(library) $(LDLIBS) $(pkg_libs)
	$(Q)$(if $(generator),cp $(generator) $(B)/installed/greenboot-etcd-generator)
	$(installation)
	$(Q)for f in $(patsubst %,'$(DESTDIR)$(systemdsystemunitdir)'/greenboot-etcd-%,$(notdir $(filter %.service,$(unit_files)))); do \
		sed '1,/^\[Service\]/d' hooks/sandbox.conf >>"$$f" || exit 1; done
	$(Q)$(if $(DESTDIR),,journalctl --update-catalog 2>/dev/null ||) \
		echo "greenboot-etcd: run journalctl --update-catalog on the target, so that journalctl -x explains the messages"

# With the variables of install, uninstall removes the same files. Configuration, backups and records stay. An empty
# directory is removed if its path has this program's name.
uninstall: put = $(if $(strip $(2)),for f in $(notdir $(2)); do rm -f '$(DESTDIR)$(3)'/$(4)"$$f" || exit 1; done; \
	d='$(3)'; while case $$d in (*greenboot-etcd*) ;; (*) false ;; esac && rmdir '$(DESTDIR)'"$$d" 2>/dev/null; do \
	d=$$(dirname "$$d"); done,:)
uninstall: put_text = $(call put,$(1),$(2),$(3),$(4))
uninstall: put_docs = $(call put,$(1),$(2),$(3))
uninstall: put_link = $(call put,,$(2),$(patsubst %/,%,$(dir $(2))))
uninstall:
	$(installation)
	$(Q)$(if $(DESTDIR),:,journalctl --update-catalog 2>/dev/null || :)
	@echo "greenboot-etcd: backups and records in $(localstatedir)/lib/greenboot-etcd stay"

# ---- packages ------------------------------------------------------------------------------------

archive := build/rpm/SOURCES/greenboot-etcd-$(VERSION).tar.gz
# A distribution that has redhat-rpm-config knows its own flags and directories.
rpm_macros = $(if $(wildcard /usr/lib/rpm/redhat/macros),,--load rpm/macros.elsewhere --nodeps)

.PHONY: source-archive dist rpm check-rpm
# check-unit runs the same tests.
check-rpm check-deb: NOCHECK = 1
# Without git (a release, an image build), the tree itself is the list.
source-archive:
	@mkdir -p $(dir $(archive))
	$(Q){ git ls-files --cached --others --exclude-standard 2>/dev/null || \
		find . \( -path ./build -o -path ./.git \) -prune -o ! -type d -printf '%P\n'; } | LC_ALL=C sort | \
		tar -caf $(archive) --transform 's|^|greenboot-etcd-$(VERSION)/|' --owner=0 --group=0 \
		--numeric-owner --verbatim-files-from --files-from=-
	@echo $(archive)

# The tarball has the same bytes on each machine: git takes times and modes from the commit.
release := greenboot-etcd-$(VERSION).tar.gz
dist:
	@git diff --quiet HEAD || { echo "dist: HEAD is not what is here: commit first" >&2; exit 1; }
	@mkdir -p build/dist
	$(Q)git -c tar.umask=0022 -c tar.tar.gz.command='gzip -9n' archive --prefix=greenboot-etcd-$(VERSION)/ \
		-o build/dist/$(release) HEAD
	$(Q)cd build/dist && sha256sum $(release) >$(release).sha256
	@echo build/dist/$(release)

rpmbuild = MAKEFLAGS= CI= rpmbuild $(if $(filter 1,$(V)),,--quiet) $(rpm_macros) \
	--define '_topdir $(CURDIR)/build/rpm'
rpm: source-archive
	$(Q)rm -rf build/rpm/RPMS build/rpm/SRPMS
	$(Q)$(rpmbuild) $(if $(NOCHECK),--nocheck) --noclean -ba rpm/greenboot-etcd.spec
	@find build/rpm/RPMS build/rpm/SRPMS -name '*.rpm'

# The packages of an earlier release have the same compiled files. The version 1~older is lower than 1.
check-rpm: rpm
	$(Q)rm -rf build/rpm/older
	$(Q)$(rpmbuild) --noprep --nocheck -bb --define 'dist ~older' \
		--define '_rpmdir $(CURDIR)/build/rpm/older' rpm/greenboot-etcd.spec
	@$(call run_suites,0) rpm $(wildcard tests/rpm/*.sh)

debian := build/deb/greenboot-etcd-$(VERSION)
.PHONY: deb check-deb
deb: source-archive
	$(Q)rm -rf build/deb
	$(Q)mkdir -p build/deb
	$(Q)tar -C build/deb -xf $(archive)
	$(Q)cp -r $(debian)/data/debian $(debian)/debian
	$(Q)cd $(debian) && MAKEFLAGS= CI= CC='$(CC)' \
		DEB_BUILD_OPTIONS='parallel=$(call once,processors,$(shell nproc))$(if $(NOCHECK), nocheck)' \
		dpkg-buildpackage -b -us -uc >../log 2>&1 || { tail -n 100 ../log; exit 1; }
	@find build/deb -maxdepth 1 -name '*.deb'

check-deb: deb
	@$(call run_suites,0) deb $(wildcard tests/deb/*.sh)

.PHONY: clean
clean:
	rm -rf build

endif
