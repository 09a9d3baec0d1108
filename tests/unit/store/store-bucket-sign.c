/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The examples of Amazon's documentation of S3 ("Authenticating Requests: Using the Authorization Header"). */
#include "lib/unit.h"

#include "store/bucket/sign.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define LATE 1369353600 /* 2013-05-24T00:00:00Z */

static const GbeSigningKey example = {
    .region = "us-east-1",
    .id = "AKIAIOSFODNN7EXAMPLE",
    .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};

static char *
signature_of(char **headers)
{
	for (; *headers != NULL; headers++)
		if (g_str_has_prefix(*headers, "Authorization: "))
			return strstr(*headers, "Signature=") + strlen("Signature=");
	return NULL;
}

START_TEST(as_amazon_documents)
{
	static const struct {
		const char *query, *signature;
	} cases[] = {
	    {"lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
	    {"max-keys=2&prefix=J",
	     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const GbeSignedRequest request = {.method = "GET",
						  .host = "examplebucket.s3.amazonaws.com",
						  .path = "/",
						  .query = cases[i].query,
						  .sha256 = EMPTY,
						  .time = LATE};
		g_auto(GStrv) headers = gbe_sign(&example, &request);

		ck_assert_str_eq(signature_of(headers), cases[i].signature);
		ck_assert_str_eq(headers[0], "host: examplebucket.s3.amazonaws.com");
		ck_assert_str_eq(headers[1], "x-amz-content-sha256: " EMPTY);
		ck_assert_str_eq(headers[2], "x-amz-date: 20130524T000000Z");
		ck_assert_ptr_nonnull(
		    strstr(headers[3],
			   "AWS4-HMAC-SHA256 "
			   "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
			   "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "));
		ck_assert_ptr_null(headers[4]);
	}
}
END_TEST

/* Everything that the signature covers changes it; a token is sent and covered. */
START_TEST(covers_all)
{
	static const GbeSignedRequest base = {.method = "PUT",
					      .host = "store.example:8443",
					      .path = "/bucket/a%20b",
					      .sha256 = EMPTY,
					      .time = LATE};
	GbeSignedRequest requests[] = {base, base, base, base, base, base};
	GbeSigningKey keys[] = {example, example, example};
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	requests[1].method = "GET";
	requests[2].host = "store.example";
	requests[3].path = "/bucket/a%20c";
	requests[4].query = "uploads=";
	requests[5].time = LATE + 1;
	for (guint i = 0; i < G_N_ELEMENTS(requests); i++) {
		g_auto(GStrv) headers = gbe_sign(&example, &requests[i]);

		ck_assert(g_hash_table_add(seen, g_strdup(signature_of(headers))));
	}
	keys[0].secret = "another";
	keys[1].region = "eu-central-1";
	keys[2].token = "of/a+session=";
	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		g_auto(GStrv) headers = gbe_sign(&keys[i], &base);

		ck_assert(g_hash_table_add(seen, g_strdup(signature_of(headers))));
		if (keys[i].token != NULL) {
			ck_assert_str_eq(headers[3], "x-amz-security-token: of/a+session=");
			ck_assert_ptr_nonnull(
			    strstr(headers[4], "x-amz-date;x-amz-security-token,"));
		}
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("store-bucket-sign");
	TCase *tcase = tcase_create("sign");

	tcase_add_test(tcase, as_amazon_documents);
	tcase_add_test(tcase, covers_all);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
