/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is asked of etcd to tell its health: the state of this member, which members there are, a raft
 * proposal as the proof that it can write, and a linearizable read. /health, /readyz and reads can all be
 * well while every write hangs (reference etcd.md, section 1).
 */
#pragma once

#include "core/health.h"
#include "etcd/client.h"

/* Fills what @facts has of etcd; every question ends at @deadline (monotonic microseconds). *client: NULL at
 * first, then the open connection for the next time; what @endpoint points to has to outlive it. */
void gbe_health_inquire(const GbeEndpoint *endpoint, gint64 deadline, GbeClient **client,
			GbeHealthFacts *facts);
