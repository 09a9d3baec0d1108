/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The XML of an object store, good and hostile. */
#include "lib/unit.h"

#include "store/bucket/answer.h"

#include <string.h>

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define LIMIT_TEXT 8192
#define LIMIT_ANSWER ((gsize)4 << 20)

static void
note(const char *name, guint depth, const char *text, gpointer data)
{
	g_string_append_printf(data, "%u %s=%s\n", depth, name, text);
}

/* Takes @text in pieces of @piece bytes. Returns each element at its end; NULL: refused. */
static char *
take(const char *root, const char *text, gsize size, gsize piece, GError **error)
{
	g_autoptr(GString) seen = g_string_new(NULL);
	g_autoptr(GbeAnswer) answer = gbe_answer_new(root, note, seen);
	bool going = true;

	for (gsize at = 0; going && at < size; at += piece)
		going = gbe_answer_push(answer, text + at, MIN(piece, size - at));
	/* After the first refusal nothing more is taken. */
	ck_assert(going || !gbe_answer_push(answer, "<a/>", 4));
	if (!gbe_answer_end(answer, error))
		return NULL;
	ck_assert(going);
	return g_strdup(seen->str);
}

static const char list_page[] =
    HEAD "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
	 "  <Name>b</Name><IsTruncated>true</IsTruncated>\n"
	 "  <Contents>\n    <Key>p/a%20b</Key><ETag>&quot;e&#45;1&quot;</ETag><Size>7</Size>\n"
	 "    <Owner><ID>x</ID></Owner>\n  </Contents>\n"
	 "  <Contents><Key>p/\xc3\xa4&amp;<![CDATA[<&>]]></Key><Size/></Contents>\n"
	 "  <!-- a comment --><NextContinuationToken>t==</NextContinuationToken>\n"
	 "</ListBucketResult>\n";

START_TEST(a_list_page)
{
	static const gsize pieces[] = {1, 2, 7, 64, sizeof(list_page)};

	for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
		g_autoptr(GError) error = NULL;
		g_autofree char *seen =
		    take("ListBucketResult", list_page, strlen(list_page), pieces[i], &error);

		ck_assert_msg(seen != NULL, "%s", error != NULL ? error->message : "");
		g_strdelimit(seen, "\t", ' ');
		ck_assert_ptr_nonnull(strstr(seen, "1 Name=b\n1 IsTruncated=true\n"
						   "2 Key=p/a%20b\n2 ETag=\"e-1\"\n2 Size=7\n"
						   "3 ID=x\n2 Owner="));
		ck_assert_ptr_nonnull(strstr(seen, "2 Key=p/\xc3\xa4&<&>\n2 Size=\n1 Contents="));
		ck_assert_ptr_nonnull(strstr(seen, "\n1 NextContinuationToken=t==\n"
						   "0 ListBucketResult="));
	}
}
END_TEST

START_TEST(an_error)
{
	static const char text[] = HEAD "<Error><Code>SlowDown</Code><Message>Reduce your\n"
					"rate.</Message><Resource/></Error>";

	for (gsize piece = 1; piece <= strlen(text); piece += 13) {
		g_autofree char *seen = take("ListBucketResult", text, strlen(text), piece, NULL);

		ck_assert_str_eq(seen, "1 Code=SlowDown\n1 Message=Reduce your\nrate.\n"
				       "1 Resource=\n0 Error=\n");
	}
}
END_TEST

/* Each in one piece and byte by byte: the same word. */
START_TEST(refused)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
	    {"", "cut off"},
	    {" \n", "cut off"},
	    {HEAD, "cut off"},
	    {"<a>", "cut off"},
	    {"<a><b>x</b>", "cut off"},
	    {"<a><b>x</b></a", "cut off"},
	    {"<a><b>x</a>", NULL},
	    {"{\"a\": 1}", NULL},
	    {"no XML", NULL},
	    {"<a>1</a>x", NULL},
	    {"<a></a><a></a>", "more than one"},
	    {"<a/><b>", "more than one"},
	    {"<a>\xff</a>", NULL},
	    {"<a>&nbsp;</a>", NULL},
	    {"<a>&#0;</a>", NULL},
	    {"<a b=1/>", NULL},
	    {"<1><2><3><4><5><6><7><8><9/></8></7></6></5></4></3></2></1>", NULL},
	    {"<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>", "too deep"},
	    {"<!DOCTYPE html><html></html>", "document type"},
	    {HEAD "<!DOCTYPE a SYSTEM \"http://x/y.dtd\"><a></a>", "document type"},
	    {"<a><!DOCTYPE b></a>", "document type"},
	    {"<!doctype html><html></html>", NULL},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
		for (gsize piece = 1; piece < 1000; piece += 998) {
			g_autoptr(GError) error = NULL;
			g_autofree char *seen =
			    take("a", cases[i].text, strlen(cases[i].text), piece, &error);

			ck_assert_msg(seen == NULL, "%s", cases[i].text);
			ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL));
			ck_assert(g_str_has_prefix(error->message,
						   "the answer is not that of an object "
						   "store: "));
			ck_assert_msg(cases[i].says == NULL ||
					  strstr(error->message, cases[i].says) != NULL,
				      "%s: %s", cases[i].text, error->message);
		}
}
END_TEST

/* A well-formed page of another server: its elements are not passed on, whatever their names. */
START_TEST(another_root)
{
	static const char *const pages[] = {
	    "<html><head><title>Sign in</title></head><Contents><Key>k</Key></Contents></html>",
	    HEAD "<D:multistatus><D:response/></D:multistatus>",
	    "<InitiateMultipartUploadResult><UploadId>x</UploadId></InitiateMultipartUploadResult>",
	    "<Errors><Code>x</Code></Errors>",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(pages); i++) {
		g_autoptr(GString) seen = g_string_new(NULL);
		g_autoptr(GbeAnswer) answer = gbe_answer_new("ListBucketResult", note, seen);
		g_autoptr(GError) error = NULL;

		ck_assert(!gbe_answer_push(answer, pages[i], strlen(pages[i])));
		ck_assert(!gbe_answer_end(answer, &error));
		ck_assert_ptr_nonnull(strstr(error->message, "instead of <ListBucketResult>"));
		ck_assert_str_eq(seen->str, "");
	}
}
END_TEST

/* "A billion laughs", with a document type and without. */
START_TEST(an_entity_bomb)
{
	static const char nested[] =
	    "<!DOCTYPE l [<!ENTITY a \"lol\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">"
	    "<!ENTITY c \"&b;&b;&b;&b;&b;&b;&b;&b;\">]><l>&c;</l>";
	static const char *const bombs[] = {
	    nested,
	    "<!ENTITY a \"lol\"><l>&a;</l>",
	    "<l>&a;</l>",
	    "<!DOCTYPE l [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><l>&a;</l>",
	};

	for (gsize i = 0; i < G_N_ELEMENTS(bombs); i++)
		for (gsize piece = 1; piece < 1000; piece += 998) {
			g_autoptr(GError) error = NULL;
			g_autofree char *seen =
			    take("l", bombs[i], strlen(bombs[i]), piece, &error);

			ck_assert_msg(seen == NULL, "%s: %s", bombs[i], seen);
			ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CANNOT_TELL));
		}
}
END_TEST

/* As deep, and as long, as is allowed, and one more. */
START_TEST(limits)
{
	static const char deep[] = "<a><b><c><d><e><f><g><h>x</h></g></f></e></d></c></b></a>";
	g_autofree char *longest = g_strnfill(LIMIT_TEXT, 'k');
	g_autofree char *key = g_strconcat("<a><Key>", longest, "</Key></a>", NULL);
	g_autofree char *longer = g_strconcat("<a><Key>", longest, "k</Key></a>", NULL);
	g_autofree char *twice = g_strconcat("<a>", longest, "<![CDATA[k]]></a>", NULL);
	g_autofree char *seen = take("a", deep, strlen(deep), 5, NULL), *all = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_nonnull(seen);
	ck_assert(g_str_has_prefix(seen, "7 h=x\n6 g=\n"));
	all = take("a", key, strlen(key), 100, NULL);
	ck_assert_ptr_nonnull(all);
	ck_assert_ptr_null(take("a", longer, strlen(longer), 100, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "text in it is too long"));
	g_clear_error(&error);
	ck_assert_ptr_null(take("a", twice, strlen(twice), 100, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "text in it is too long"));
}
END_TEST

/* An answer that does not end: of elements, and of one comment. */
START_TEST(endless)
{
	static const char *const begins[] = {"<a>", "<a><!--"};
	static const char *const goes_on[] = {"<b>x</b>", "--- ---- "};

	for (gsize i = 0; i < G_N_ELEMENTS(begins); i++) {
		g_autoptr(GString) seen = g_string_new(NULL);
		g_autoptr(GbeAnswer) answer = gbe_answer_new("a", note, seen);
		g_autoptr(GError) error = NULL;
		gsize size = strlen(begins[i]);

		ck_assert(gbe_answer_push(answer, begins[i], size));
		for (gsize n = strlen(goes_on[i]);
		     gbe_answer_push(answer, goes_on[i], strlen(goes_on[i])); size += n)
			ck_assert_uint_le(size, LIMIT_ANSWER);
		ck_assert(!gbe_answer_end(answer, &error));
		ck_assert_ptr_nonnull(strstr(error->message, "it is too long"));
	}
}
END_TEST

/* The text before a NUL is no key. */
START_TEST(a_nul)
{
	static const char text[] = "<a><Key>x\0y</Key></a>";
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(take("a", text, sizeof(text) - 1, 100, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "it has a NUL byte"));
	g_clear_error(&error);
	ck_assert_ptr_null(take("a", text, sizeof(text) - 1, 1, &error));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("store-bucket-answer");
	TCase *tcase = tcase_create("answer");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_list_page);
	tcase_add_test(tcase, an_error);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, another_root);
	tcase_add_test(tcase, an_entity_bomb);
	tcase_add_test(tcase, limits);
	tcase_add_test(tcase, endless);
	tcase_add_test(tcase, a_nul);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
