/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's health as its own /health tells it: HTTP(S) GET with a client certificate where one is
 * configured, within a deadline, no proxy. (A later issue asks deeper questions over gRPC.)
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"
#include "core/tri.h"
#include "core/verdict.h"

typedef struct {
	const char *endpoint;		 /* http://, https:// or unix:// URL */
	const char *cacert, *cert, *key; /* paths as this process sees them; NULL or "" for none */
	guint timeout_ms;		 /* for everything together */
} GbeEndpoint;

typedef struct {
	GbeHealth health;
	char *reason;	   /* one line, for people; never NULL after a call */
	char *version;	   /* /version's etcdserver, or NULL */
	GbeTri reached;	   /* somebody answered */
	gboolean no_space; /* unhealthy, and for the alarm NOSPACE alone ([health] on-nospace) */
} GbeProbe;

void gbe_probe_clear(GbeProbe *probe);
/* Never fails: what cannot be told is GBE_HEALTH_CANNOT_TELL with a reason. Connection refused and
 * timeouts are UNHEALTHY; TLS trouble is CANNOT_TELL. */
void gbe_health_probe(const GbeEndpoint *endpoint, GbeProbe *ret_probe);
