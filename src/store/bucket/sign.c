/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/bucket/sign.h"

#include "base/auto.h"

#include <string.h>

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SHA256_SIZE 32

static void
hmac(const guint8 *key, gsize size, const char *text, guint8 ret_digest[SHA256_SIZE])
{
	GHmac *sum = g_hmac_new(G_CHECKSUM_SHA256, key, size);
	gsize got = SHA256_SIZE;

	g_hmac_update(sum, (const guint8 *)text, -1);
	g_hmac_get_digest(sum, ret_digest, &got);
	g_hmac_unref(sum);
}

/* The key of one day, region and service, and with it the signature of @text. */
static char *
signature(const GbeSigningKey *key, const char *day, const char *text)
{
	const char *const steps[] = {day, key->region, "s3", "aws4_request"};
	g_autofree char *secret = g_strconcat("AWS4", key->secret, NULL);
	guint8 digest[SHA256_SIZE];
	char *hex;

	hmac((const guint8 *)secret, strlen(secret), steps[0], digest);
	for (guint i = 1; i < G_N_ELEMENTS(steps); i++)
		hmac(digest, sizeof digest, steps[i], digest);
	hex = g_compute_hmac_for_string(G_CHECKSUM_SHA256, digest, sizeof digest, text, -1);
	explicit_bzero(secret, strlen(secret));
	explicit_bzero(digest, sizeof digest);
	return hex;
}

char **
gbe_sign(const GbeSigningKey *key, const GbeSignedRequest *request)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(request->time);
	g_autofree char *now = g_date_time_format(time, "%Y%m%dT%H%M%SZ");
	g_autofree char *day = g_strndup(now, strlen("20261128"));
	g_autofree char *scope = g_strdup_printf("%s/%s/s3/aws4_request", day, key->region);
	/* In the order of the names, as they are signed. */
	const struct {
		const char *name, *value;
	} headers[] = {
	    {"host", request->host},
	    {"x-amz-content-sha256", request->sha256},
	    {"x-amz-date", now},
	    {"x-amz-security-token", key->token},
	};
	g_autoptr(GString) canonical = g_string_new(NULL);
	g_autoptr(GString) names = g_string_new(NULL);
	g_autoptr(GStrvBuilder) signed_headers = g_strv_builder_new();
	g_autofree char *sum = NULL, *text = NULL, *hex = NULL, *authorization = NULL;

	g_string_append_printf(canonical, "%s\n%s\n%s\n", request->method, request->path,
			       request->query != NULL ? request->query : "");
	for (guint i = 0; i < G_N_ELEMENTS(headers) && headers[i].value != NULL; i++) {
		g_autofree char *line = g_strconcat(headers[i].name, ": ", headers[i].value, NULL);

		g_strv_builder_add(signed_headers, line);
		g_string_append_printf(canonical, "%s:%s\n", headers[i].name, headers[i].value);
		g_string_append_printf(names, "%s%s", i > 0 ? ";" : "", headers[i].name);
	}
	g_string_append_printf(canonical, "\n%s\n%s", names->str, request->sha256);
	sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, canonical->str, -1);
	text = g_strjoin("\n", ALGORITHM, now, scope, sum, NULL);
	hex = signature(key, day, text);
	authorization = g_strdup_printf("Authorization: " ALGORITHM
					" Credential=%s/%s, SignedHeaders=%s, Signature=%s",
					key->id, scope, names->str, hex);
	g_strv_builder_add(signed_headers, authorization);
	return g_strv_builder_end(signed_headers);
}
