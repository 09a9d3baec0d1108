/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/health.h"

#include <string.h>

#include "core/record.h"
#include "etcd/http.h"

void
gbe_probe_clear(GbeProbe *probe)
{
	g_clear_pointer(&probe->reason, g_free);
	g_clear_pointer(&probe->version, g_free);
	probe->health = GBE_HEALTH_NOT_ASKED;
	probe->reached = GBE_UNKNOWN;
	probe->no_space = FALSE;
}

static void conclude(GbeProbe *probe, GbeHealth health, GbeTri reached, const char *format, ...)
    G_GNUC_PRINTF(4, 5);

static void
conclude(GbeProbe *probe, GbeHealth health, GbeTri reached, const char *format, ...)
{
	va_list args;

	probe->health = health;
	probe->reached = reached;
	g_free(probe->reason);
	va_start(args, format);
	probe->reason = g_strdup_vprintf(format, args);
	va_end(args);
	/* One line, whatever the server put into it. */
	for (char *at = probe->reason; *at != '\0'; at++)
		if (g_ascii_iscntrl(*at))
			*at = ' ';
}

/* Nobody answered, or not in a way that can be understood. */
static void
conclude_failure(GbeProbe *probe, const GbeEndpoint *endpoint, const GbeHttpReply *reply)
{
	switch (reply->failure) {
	case GBE_HTTP_DOWN:
		conclude(probe, GBE_HEALTH_UNHEALTHY, GBE_NO, "etcd does not answer at %s: %s",
			 endpoint->endpoint, reply->why);
		return;
	case GBE_HTTP_DROPPED:
		conclude(probe, GBE_HEALTH_UNHEALTHY, GBE_YES,
			 "etcd at %s broke the connection off: %s", endpoint->endpoint, reply->why);
		return;
	case GBE_HTTP_SILENT:
		conclude(probe, GBE_HEALTH_CANNOT_TELL, GBE_YES,
			 "%s hangs up without an answer: is it https? See endpoint= of [etcd]",
			 endpoint->endpoint);
		return;
	case GBE_HTTP_TLS:
		conclude(
		    probe, GBE_HEALTH_CANNOT_TELL, GBE_YES,
		    "no trust between etcd at %s and this program (%s): see cacert=, cert= and "
		    "key= of [etcd]",
		    endpoint->endpoint, reply->why);
		return;
	case GBE_HTTP_NONE:
	case GBE_HTTP_LOCAL:
		conclude(probe, GBE_HEALTH_CANNOT_TELL, GBE_UNKNOWN, "cannot ask etcd at %s: %s",
			 endpoint->endpoint, reply->why);
		return;
	}
}

/* "health" is a string in every version of etcd; true and false would be its natural form. */
static GbeTri
read_health(JsonObject *object)
{
	JsonNode *node = json_object_get_member(object, "health");
	const char *text = gbe_json_string(object, "health", NULL);

	if (node != NULL && JSON_NODE_HOLDS_VALUE(node) &&
	    json_node_get_value_type(node) == G_TYPE_BOOLEAN)
		return gbe_tri(json_node_get_boolean(node));
	if (g_strcmp0(text, "true") == 0)
		return GBE_YES;
	if (g_strcmp0(text, "false") == 0)
		return GBE_NO;
	return GBE_UNKNOWN;
}

static void
conclude_reply(GbeProbe *probe, const GbeEndpoint *endpoint, const GbeHttpReply *reply)
{
	g_autoptr(JsonObject) object = NULL;
	GbeTri health = GBE_UNKNOWN;
	const char *why = NULL;

	if (gbe_json_parse_object(reply->body->str, reply->body->len, "the answer", &object,
				  NULL)) {
		health = read_health(object);
		why = gbe_json_string(object, "reason", NULL);
	}
	if (reply->status == 200 && health == GBE_YES) {
		conclude(probe, GBE_HEALTH_HEALTHY, GBE_YES, "etcd is healthy");
	} else if (health == GBE_NO) {
		/* Until it is asked again: nothing else was named. */
		probe->no_space = why == NULL || *why == '\0' || strstr(why, "NOSPACE") != NULL;
		conclude(probe, GBE_HEALTH_UNHEALTHY, GBE_YES,
			 "etcd says that it is not healthy%s%s",
			 why != NULL && *why != '\0' ? ": " : "", why != NULL ? why : "");
	} else if (reply->status == 401 || reply->status == 403) {
		conclude(probe, GBE_HEALTH_CANNOT_TELL, GBE_YES,
			 "%s refuses to say (HTTP %ld): see cert= and key= of [etcd]",
			 endpoint->endpoint, reply->status);
	} else {
		conclude(probe, GBE_HEALTH_CANNOT_TELL, GBE_YES,
			 "%s does not answer as etcd does (HTTP %ld): see endpoint= of [etcd]",
			 endpoint->endpoint, reply->status);
	}
}

/* Is it the quota alone that keeps etcd from being healthy? 3.4 says "false" and no more, the others name
 * the first alarm that they find. */
static void
ask_for_space(GbeProbe *probe, GbeHttp *http)
{
	g_auto(GbeHttpReply) reply = {0};
	g_autoptr(JsonObject) object = NULL;

	probe->no_space =
	    gbe_http_get(http, "/health?exclude=NOSPACE", &reply) && reply.status == 200 &&
	    gbe_json_parse_object(reply.body->str, reply.body->len, "the answer", &object, NULL) &&
	    read_health(object) == GBE_YES;
	if (probe->no_space)
		conclude(probe, GBE_HEALTH_UNHEALTHY, GBE_YES,
			 "etcd says that it is not healthy: ALARM NOSPACE");
}

/* Only ever a label: the metrics listener does not have it. */
static void
ask_for_version(GbeProbe *probe, GbeHttp *http)
{
	g_auto(GbeHttpReply) reply = {0};
	g_autoptr(JsonObject) object = NULL;

	if (gbe_http_get(http, "/version", &reply) && reply.status == 200 &&
	    gbe_json_parse_object(reply.body->str, reply.body->len, "the answer", &object, NULL))
		probe->version = g_strdup(gbe_json_string(object, "etcdserver", NULL));
}

void
gbe_health_probe(const GbeEndpoint *endpoint, GbeProbe *ret_probe)
{
	g_autoptr(GbeHttp) http = NULL;
	g_auto(GbeHttpReply) reply = {0};
	GbeProbe probe = {0};

	if (!gbe_http_open(endpoint, &http, &reply)) {
		conclude_failure(&probe, endpoint, &reply);
	} else if (!gbe_http_get(http, "/health", &reply)) {
		conclude_failure(&probe, endpoint, &reply);
	} else {
		conclude_reply(&probe, endpoint, &reply);
		if (probe.health == GBE_HEALTH_UNHEALTHY && probe.no_space)
			ask_for_space(&probe, http);
		if (probe.health != GBE_HEALTH_CANNOT_TELL)
			ask_for_version(&probe, http);
	}
	*ret_probe = probe;
}
