/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looking at etcd's health: the service, the disk, the certificates, and etcd itself. Changes nothing, and
 * never fails: what could not be told is not known.
 */
#pragma once

#include "app/endpoint.h"
#include "core/facts.h"
#include "core/health.h"
#include "etcd/client.h"

typedef struct {
	GbeApp *app;
	GbeHealthFacts *facts;
	GbeHealthReport *report; /* of the last look; NULL before the first */
	GbeAppEndpoint at;
	GbeClient *client;
} GbeHealthLook;

/* With @app's configuration, which is loaded. */
GbeHealthLook *gbe_health_look_new(GbeApp *app);
void gbe_health_look_free(GbeHealthLook *look);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeHealthLook, gbe_health_look_free)

/* What prerun left (held or not), whether the booted deployment is on trial, and what the data is known to
 * be. @facts: of gbe_verdict_look(); NULL: not known. */
void gbe_health_look_expect(GbeHealthLook *look, const GbeFacts *facts);
/* The same, found out here, for who has nothing else to do with those facts. Who may not read them does without. */
void gbe_health_look_expect_own(GbeHealthLook *look);
/* Looks once, etcd being asked for @timeout_ms at most; ->report is of it. */
void gbe_health_look_now(GbeHealthLook *look, guint timeout_ms);
