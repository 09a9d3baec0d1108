/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks at etcd's health: the service, the disk, the certificates, and etcd itself. Changes nothing and never fails:
 * a fact that could not be determined is unknown.
 */
#pragma once

#include "app/device/endpoint.h"
#include "core/decide/facts.h"
#include "core/health/health.h"
#include "etcd/api/client.h"

typedef struct {
	GbeApp *app;
	GbeHealthFacts *facts;
	GbeHealthReport *report; /* of the last look; NULL before the first */
	GbeAppEndpoint at;
	GbeClient *client;
	bool
	    was_healthy; /* the monitor's last answer, of which gbe_health_look_briefly() made use */
} GbeHealthLook;

/* @app's configuration must be loaded. */
GbeHealthLook *gbe_health_look_new(GbeApp *app);
void gbe_health_look_free(GbeHealthLook *look);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHealthLook, gbe_health_look_free)

/* Tells @look what prerun left (held or not), whether the booted deployment is on trial, and what is known of the
 * data. @facts: from gbe_verdict_look(). */
void gbe_health_look_expect(GbeHealthLook *look, const GbeFacts *facts);
/* The same for a caller without those facts: finds them itself. Leaves them unknown when the caller may not read
 * them. */
void gbe_health_look_expect_own(GbeHealthLook *look);
/* Looks once, asking etcd for @timeout_ms at most; sets ->report. */
void gbe_health_look_now(GbeHealthLook *look, guint timeout_ms);
/* The same for a verb that only shows, with 300 ms. etcd's health is unknown if the answer is late (->report->late): the
 * reason then has the monitor's last answer and its age. */
void gbe_health_look_briefly(GbeHealthLook *look);
