/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/trust.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/device/endpoint.h"
#include "etcd/api/client.h"
#include "etcd/api/connection.h"

#define TLS_SCHEME "https://"

void
gbe_trust_clear(GbeTrust *trust)
{
	g_clear_pointer(&trust->refusal, g_free);
}

/* ---- files in memory ---- */

enum { AUTHORITIES, CERTIFICATE, KEY, N_FILES }; /* in the order of contents */

/* Files in memory, with the paths by which libcurl opens them. */
typedef struct {
	int fds[N_FILES];
	char *paths[N_FILES];
} Files;
#define NO_FILES                                                                                   \
	{                                                                                          \
		.fds = { -1, -1, -1 }                                                              \
	}

static void
files_clear(Files *files)
{
	for (guint i = 0; i < N_FILES; i++) {
		if (files->fds[i] >= 0)
			(void)close(files->fds[i]);
		g_free(files->paths[i]);
	}
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Files, files_clear)

static bool
files_open(Files *files, const GbePki *pki, GbeLeafName leaf, GError **error)
{
	g_autoptr(GBytes) bundle = gbe_pki_bundle(pki);
	GBytes *const contents[N_FILES] = {bundle, pki->certificates[leaf], pki->keys[leaf]};

	for (guint i = 0; i < N_FILES; i++) {
		gsize size = 0;
		const void *bytes =
		    contents[i] != NULL ? g_bytes_get_data(contents[i], &size) : NULL;

		if (contents[i] == NULL)
			return gbe_throw(error, GBE_ERROR_CANNOT_TELL,
					 "a certificate in " GBE_PKI_LIVE " is missing");
		files->fds[i] = memfd_create("certificate", MFD_CLOEXEC);
		if (files->fds[i] < 0 || pwrite(files->fds[i], bytes, size, 0) != (ssize_t)size)
			return gbe_throw_errno(error, errno, "write a file in memory");
		files->paths[i] = g_strdup_printf("/proc/self/fd/%d", files->fds[i]);
	}
	return true;
}

static GbeEndpoint
endpoint_of(const Files *files, const char *url)
{
	return (GbeEndpoint){.endpoint = url,
			     .shown = url,
			     .cacert = files->paths[AUTHORITIES],
			     .cert = files->paths[CERTIFICATE],
			     .key = files->paths[KEY]};
}

/* ---- a member ---- */

static bool
take_nothing(const guint8 *bytes, gsize size, gpointer data)
{
	(void)bytes, (void)size, (void)data;
	return false;
}

/* Any answer follows the handshake. */
static bool
ask_peer(const Files *files, const char *url, gint64 deadline, GbeCallFailure *failure)
{
	const GbeEndpoint endpoint = endpoint_of(files, url);
	const GbeExchange exchange = {.path = "/version",
				      .deadline = deadline,
				      .take = take_nothing};
	g_autoptr(GbeConnection) connection = NULL;
	long status = 0;
	bool cut = false;

	return gbe_connection_open(&endpoint, GBE_HTTP_1, &connection, failure) &&
	       gbe_connection_ask(connection, &exchange, &status, &cut, failure);
}

/* A refusal by gRPC also follows the handshake. */
static bool
ask_server(const Files *files, const char *url, gint64 deadline, GbeCallFailure *failure)
{
	const GbeEndpoint endpoint = endpoint_of(files, url);
	g_autoptr(GbeClient) client = NULL;
	GbeEtcdStatus status = {{0}};

	if (!gbe_client_open(&endpoint, &client, failure))
		return false;
	if (!gbe_client_status(client, deadline, &status, failure))
		return gbe_call_is_denied(failure);
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return true;
}

typedef bool (*Ask)(const Files *files, const char *url, gint64 deadline, GbeCallFailure *failure);

/* One of the addresses is enough. Without TLS there is nothing to trust. NULL: it takes the certificate. */
static char *
refusal_at(const GPtrArray *urls, Ask ask, const Files *files, guint64 seconds)
{
	char *why = NULL;

	for (guint i = 0; urls != NULL && i < urls->len; i++) {
		const char *url = urls->pdata[i];
		g_auto(GbeCallFailure) failure = {0};

		if (g_ascii_strncasecmp(url, TLS_SCHEME, strlen(TLS_SCHEME)) != 0)
			continue;
		g_clear_pointer(&why, g_free);
		if (ask(files, url, g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC,
			&failure))
			return NULL;
		why = g_strdup_printf("%s: %s", url, failure.why);
	}
	return why;
}

/* ---- the cluster ---- */

static bool
list_members(const GbeApp *app, const GbeEndpoint *endpoint, GbeEtcdMembers *ret_members,
	     GError **error)
{
	g_auto(GbeCallFailure) failure = {0};
	g_autoptr(GbeClient) client = NULL;

	return (gbe_client_open(endpoint, &client, &failure) &&
		gbe_client_members(client, gbe_app_deadline(app), ret_members, &failure)) ||
	       gbe_throw(error, GBE_ERROR_CANNOT_TELL, "etcd at %s does not list the members: %s",
			 endpoint->shown, failure.why);
}

bool
gbe_trust_ask(GbeApp *app, const GbePki *pki, guint64 seconds, GbeTrust *ret_trust, GError **error)
{
	g_auto(Files) peer = NO_FILES, client = NO_FILES;
	g_auto(GbeAppEndpoint) at = {{0}};
	GbeEtcdMembers members = {{0}};
	GbeTrust trust = {0};

	gbe_app_endpoint(app, &at);
	if (!list_members(app, &at.endpoint, &members, error))
		return false;
	trust.members = members.list != NULL ? members.list->len : 0;
	if (trust.members > 1 && (!files_open(&peer, pki, GBE_LEAF_PEER, error) ||
				  !files_open(&client, pki, GBE_LEAF_CLIENT, error))) {
		gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
		return false;
	}
	for (guint i = 0; trust.members > 1 && i < trust.members; i++) {
		const GbeEtcdMember *member = &g_array_index(members.list, GbeEtcdMember, i);
		bool started = member->name != NULL && *member->name != '\0';
		g_autofree char *why = NULL;

		if (started)
			why = refusal_at(member->peer_urls, ask_peer, &peer, seconds);
		if (started && why == NULL)
			why = refusal_at(member->client_urls, ask_server, &client, seconds);
		trust.voters += member->learner ? 0 : 1;
		trust.taken += member->learner || !started || why != NULL ? 0 : 1;
		if (trust.refusal == NULL && !started)
			trust.refusal = g_strdup("a member that was added has not started yet");
		else if (trust.refusal == NULL && why != NULL)
			trust.refusal = g_strdup_printf("member %s, %s", member->name, why);
	}
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	*ret_trust = trust;
	return true;
}

bool
gbe_trust_check_cluster(GbeApp *app, const GbePki *pki, const char *url, GError **error)
{
	g_auto(Files) files = NO_FILES;
	GbeEtcdMembers members = {{0}};
	GbeEndpoint endpoint;

	if (!files_open(&files, pki, GBE_LEAF_CLIENT, error))
		return false;
	endpoint = endpoint_of(&files, url);
	if (!list_members(app, &endpoint, &members, error))
		return false;
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
	return true;
}
