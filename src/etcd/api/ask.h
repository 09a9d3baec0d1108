/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks etcd about its health: this member's state, the members, a raft proposal as the proof that etcd can write,
 * and a linearizable read. /health, /readyz and reads can all succeed while every write hangs (reference etcd.md,
 * section 1).
 */
#pragma once

#include "core/health/health.h"
#include "etcd/api/client.h"

/* Fills etcd's part of @facts. Every question ends at @deadline (monotonic microseconds). *client is NULL at first,
 * then the open connection for the next time. The strings of @endpoint have to outlive it. */
void gbe_health_inquire(const GbeEndpoint *endpoint, gint64 deadline, GbeClient **client,
			GbeHealthFacts *facts);
