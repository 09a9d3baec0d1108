/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The systems that are protected without configuration (greenboot-etcd.conf(5), DETECTION), and their settings: the
 * lowest layer of the configuration. They are those of data/examples. Pure; sys/installed.h looks for the systems.
 */
#pragma once

#include "base/auto.h"
#include "core/config/config.h"
#include "core/tri.h"

/* ---- the arguments and variables that a systemd unit gives its program ----
 *
 * Options follow the rules of Go's programs (etcd, k3s): one dash or two, "--flag=value" or "--flag value". The last
 * flag counts, and a variable counts if there is no flag. */

/* The values of @key ("User") in the text of a unit and its drop-ins, in order. As systemd reads it: a backslash at the
 * end joins lines, "#" and ";" begin a comment, and an empty value drops those before it. Newly allocated. */
char **gbe_unit_values(const char *text, const char *key);

typedef struct {
	/* Of char *: those after the program's name. NULL: the unit does not start the program. */
	GPtrArray *arguments;
	char **environment; /* of "NAME=value" */
} GbeTold;

/* @unit: its text; @variables: that of its files of variables; @program: a name without a directory. Variables in
 * arguments are put in, and so is what "sh -c" starts. */
void gbe_told_read(const char *unit, const char *variables, const char *program, GbeTold *ret_told);
void gbe_told_clear(GbeTold *told);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeTold, gbe_told_clear)

/* The value of --@flag, or of -@letter (0: it has none), or of @variable (NULL: it has none), borrowed. NULL: not set,
 * or empty. */
const char *gbe_told_value(const GbeTold *told, const char *flag, char letter,
			   const char *variable);

/* ---- the systems ---- */

#define GBE_SYSTEMS_MAX 8
#define GBE_MICROSHIFT_SERVICE "microshift.service"

typedef struct {
	const char *group, *key, *value;
} GbeSystemSetting;

/* A configuration file in YAML, whose keys are flags of the program. Files of the directory FILE.d follow. */
typedef struct {
	const char *path; /* the default; NULL: none */
	const char *flag, *variable;
	char letter;
	bool alone; /* where there is one, flags and variables do not count */
} GbeSystemFile;

typedef struct {
	const char *name;    /* "MicroShift" */
	const char *service; /* its unit */
	const char *program; /* that the unit starts; NULL: the unit tells enough */
	/* Files of variables that the unit reads. */
	const char *const *variables;
	GbeSystemFile file;
	/* True: it is this system. *ret_why, newly allocated: why its data cannot be protected without configuration;
	 * untouched otherwise. NULL: wherever the service is, this is the system. */
	bool (*is_it)(const GbeTold *told, char **ret_why);
	/* Why an application of this name has no etcd to protect, as "UNIT keeps its data in ...", and what a person can do.
	 * @has_data: the default data directory has data of etcd. False: nothing can be said of it. NULL: not known. */
	bool (*without_etcd)(const GbeTold *told, bool has_data, const char **ret_text,
			     const char **ret_hint);
	/* An installed application is in use: unprotected, it is worth a warning. */
	bool application;
	const char *marker; /* a file that the system also has; NULL: the service is enough */
	/* Why it is not protected with any configuration that was tested; NULL: ->settings do. */
	const char *unsupported;
	const GbeSystemSetting *settings; /* ends with a NULL group */
} GbeSystem;

/* Ends with a NULL name. Of those with one service the first that it is counts. */
extern const GbeSystem gbe_systems[];

/* An installed system. */
typedef struct {
	const GbeSystem *system;
	bool enabled; /* systemd starts it at boot; asked only where there are several */
	char *why;    /* it was seen, and is not protected without configuration; NULL */
} GbeInstalled;

/* false: a file sets data-dir=, service= or endpoint= of [etcd], so nothing is detected. */
bool gbe_config_wants_detection(const GbeConfig *config);
/* Sets what no file and no system has set: certificates that this program has made are there. The client's are used
 * where the endpoint asks for TLS. */
void gbe_config_detect_pki(GbeConfig *config);
/* The same for a member of a cluster: its etcd asks for TLS. The port is the one in @settings, the variables that the
 * other members read. */
void gbe_config_detect_cluster(GbeConfig *config, const char *settings);
/* Sets what no file has set. The one installed system, or of several the one that is enabled, gives its settings. If
 * that is not exactly one, ->ambiguous asks. */
void gbe_config_detect(GbeConfig *config, const GbeInstalled *installed, guint count);
