/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OpenSSL's own command reads the issued certificates, and makes the authorities and requests that are read here. */
#include "certs/issue.h"
#include "etcd/tls/pem.h"
#include "lib/unit.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/wait.h>

#define DAY 86400

static char *dir;
static gint64 now;

static void
prepare(void)
{
	dir = g_dir_make_tmp("issue.XXXXXX", NULL);
	ck_assert_ptr_nonnull(dir);
	ck_assert_int_eq(g_chdir(dir), 0);
	now = g_get_real_time() / G_USEC_PER_SEC;
}

static void
clean(void)
{
	char *argv[] = {(char *)"rm", (char *)"-rf", (char *)"--", dir, NULL};

	ck_assert_int_eq(g_chdir("/"), 0);
	ck_assert(g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL,
			       NULL));
	g_free(dir);
}

/* Its output, both streams; newly allocated. *ret_status may be NULL: then it is 0. */
static char *
sh(const char *script, int *ret_status)
{
	g_autofree char *both = g_strdup_printf("exec 2>&1\n%s", script);
	char *argv[] = {(char *)"bash", (char *)"-euc", both, NULL};
	char *out = NULL;
	int status = 0;

	ck_assert(g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL,
			       &status, NULL));
	if (ret_status != NULL)
		*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 255;
	else
		ck_assert_msg(status == 0, "%s: %s", script, out);
	return out;
}

static void
run(const char *script)
{
	g_free(sh(script, NULL));
}

static void
says(const char *script, const char *expected)
{
	g_autofree char *out = sh(script, NULL);

	ck_assert_msg(strstr(out, expected) != NULL, "%s: not %s in %s", script, expected, out);
}

static void
says_not(const char *script, const char *forbidden)
{
	g_autofree char *out = sh(script, NULL);

	ck_assert_msg(strstr(out, forbidden) == NULL, "%s: %s in %s", script, forbidden, out);
}

static GBytes *
file(const char *name)
{
	char *bytes = NULL;
	gsize size = 0;

	ck_assert_msg(g_file_get_contents(name, &bytes, &size, NULL), "%s", name);
	return g_bytes_new_take(bytes, size);
}

static void
save(const char *name, GBytes *bytes)
{
	ck_assert(g_file_set_contents(name, g_bytes_get_data(bytes, NULL),
				      (gssize)g_bytes_get_size(bytes), NULL));
}

static GbeIssuer *
own_issuer(void)
{
	const GbeCertOrder order = {.name = "test CA",
				    .not_before = now - DAY,
				    .not_after = now + 30 * DAY};
	g_autoptr(GBytes) certificate = NULL;
	g_autoptr(GbePrivateKey) key = NULL;
	GbeIssuer *issuer = NULL;

	ck_assert(gbe_issue_authority(&order, &certificate, &key, NULL));
	save("ca.crt", certificate);
	save("ca.key", key);
	ck_assert(gbe_issuer_open(certificate, key, "ca.crt", &issuer, NULL));
	return issuer;
}

static bool
open_files(const char *certificate, const char *key, GbeIssuer **ret_issuer, GError **error)
{
	g_autoptr(GBytes) first = file(certificate), second = file(key);

	return gbe_issuer_open(first, second, certificate, ret_issuer, error);
}

static void
issue(const GbeIssuer *issuer, GbeCertUse use, const char *const *hosts, const char *name)
{
	const GbeCertOrder order = {.name = name,
				    .hosts = (char *const *)hosts,
				    .use = use,
				    .not_before = now - 3600,
				    .not_after = now + DAY};
	g_autofree char *crt = g_strconcat(name, ".crt", NULL);
	g_autofree char *key_name = g_strconcat(name, ".key", NULL);
	g_autoptr(GBytes) certificate = NULL;
	g_autoptr(GbePrivateKey) key = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert_msg(gbe_issue(issuer, &order, &certificate, &key, &error), "%s",
		      error != NULL ? error->message : "");
	save(crt, certificate);
	save(key_name, key);
}

START_TEST(authority)
{
	g_autoptr(GbeIssuer) issuer = own_issuer();

	ck_assert(issuer->certificate->ca);
	ck_assert_int_eq(issuer->certificate->not_after, now + 30 * DAY);
	says("openssl x509 -in ca.crt -noout -text", "CA:TRUE, pathlen:0");
	says("openssl x509 -in ca.crt -noout -ext basicConstraints,keyUsage", "critical");
	says("openssl x509 -in ca.crt -noout -ext keyUsage", "Certificate Sign, CRL Sign");
	says("openssl x509 -in ca.crt -noout -subject", "CN = test CA");
	says("openssl verify -x509_strict -check_ss_sig -CAfile ca.crt ca.crt", "OK");
	says("openssl pkey -in ca.key -noout -text", "prime256v1");
	says("head -n 1 ca.key", "BEGIN PRIVATE KEY");
}
END_TEST

START_TEST(leaves)
{
	static const char *const hosts[] = {"localhost", "127.0.0.1",	   "::1",
					    "fd00::7",	 "*.site.example", NULL};
	g_autoptr(GbeIssuer) issuer = own_issuer();

	issue(issuer, GBE_USE_SERVER, hosts, "server");
	issue(issuer, GBE_USE_PEER, hosts, "peer");
	issue(issuer, GBE_USE_CLIENT, NULL, "client");
	run("openssl verify -x509_strict -purpose sslserver -CAfile ca.crt server.crt peer.crt");
	run("openssl verify -x509_strict -purpose sslclient -CAfile ca.crt server.crt peer.crt "
	    "client.crt");
	run("! openssl verify -purpose sslserver -CAfile ca.crt client.crt");
	for (guint i = 0; hosts[i] != NULL; i++) {
		bool address = g_hostname_is_ip_address(hosts[i]);
		g_autofree char *script = g_strdup_printf(
		    "openssl verify -CAfile ca.crt %s %s server.crt",
		    address ? "-verify_ip" : "-verify_hostname",
		    g_str_equal(hosts[i], "*.site.example") ? "any.site.example" : hosts[i]);

		run(script);
	}
	run("! openssl verify -CAfile ca.crt -verify_ip 127.0.0.2 server.crt");
	says("openssl x509 -in server.crt -noout -ext subjectAltName",
	     "DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, "
	     "IP Address:FD00:0:0:0:0:0:0:7, DNS:*.site.example");
	says_not("openssl x509 -in client.crt -noout -text", "Alternative");
	says("openssl x509 -in server.crt -noout -text", "CA:FALSE");
	says("openssl x509 -in server.crt -noout -ext extendedKeyUsage",
	     "TLS Web Server Authentication, TLS Web Client Authentication");
	says_not("openssl x509 -in client.crt -noout -ext extendedKeyUsage", "Server");
	/* One serial number would be one certificate to who revokes or remembers them. */
	run("test \"$(for n in ca server peer client; do openssl x509 -in $n.crt -noout -serial; "
	    "done | sort -u | wc -l)\" = 4");
	run("test \"$(openssl x509 -in server.crt -noout -serial | cut -d= -f2 | wc -c)\" = 33");
	/* Each has a key of its own, which is its. */
	run("for n in server peer client; do cmp <(openssl x509 -in $n.crt -noout -pubkey) "
	    "<(openssl pkey -in $n.key -pubout); done");
	run("test \"$(cat *.key | grep -v -- - | sort -u | wc -l)\" = "
	    "\"$(cat *.key | grep -v -- - | wc -l)\" || "
	    "test \"$(for n in *.key; do openssl pkey -in $n -pubout; done | grep -v -- - | "
	    "sort -u | wc -l)\" -ge 8");
	ck_assert_int_eq(issuer->certificate->not_before, now - DAY);
}
END_TEST

static const char *const odd_hosts[] = {"a",
					"a.",
					"a_b",
					"-a",
					"1.2.3",
					"1.2.3.400",
					"010.1.1.1",
					"*",
					"*.a.b",
					"a.*.b",
					"a*.b.c",
					"xn--bcher-kva.example",
					"::ffff:1.2.3.4",
					"1:2:3:4:5:6:7:8",
					"1::",
					"fe80::1"};

/* A certificate that is issued for a host is for that host: else it would be issued again each hour. */
START_TEST(for_what_it_was_asked)
{
	const char *hosts[2] = {odd_hosts[_i], NULL};
	const GbeCertOrder order = {.name = "x",
				    .hosts = (char *const *)hosts,
				    .use = GBE_USE_SERVER,
				    .not_before = now,
				    .not_after = now + DAY};
	g_autoptr(GbeIssuer) issuer = own_issuer();
	g_autoptr(GBytes) certificate = NULL;
	g_autoptr(GbePrivateKey) key = NULL;
	g_autoptr(GbePemReader) reader = NULL;
	g_autoptr(GbePem) pem = NULL;

	if (!gbe_issue(issuer, &order, &certificate, &key, NULL))
		return;
	ck_assert(gbe_pem_open(g_bytes_get_data(certificate, NULL), g_bytes_get_size(certificate),
			       &reader, NULL));
	pem = gbe_pem_next(reader);
	ck_assert_msg(gbe_pem_is_for(pem, odd_hosts[_i]), "%s: %s", odd_hosts[_i],
		      pem->names[0] != NULL ? pem->names[0] : "nothing");
	ck_assert(gbe_pem_is_signed_by(pem, issuer->certificate));
}
END_TEST

START_TEST(no_hosts)
{
	static const char *const bad[] = {"a,IP:1.2.3.4", "a\nb",  "a b",	 "",
					  "DNS:a",	  "a\\,b", "email:move", "fe80::1%eth0",
					  "a;b",	  "a=b",   "\xc3\xa4"};
	g_autofree char *longest = g_strnfill(300, 'a');
	g_autoptr(GbeIssuer) issuer = own_issuer();

	for (guint i = 0; i <= G_N_ELEMENTS(bad); i++) {
		const char *hosts[] = {"good", i < G_N_ELEMENTS(bad) ? bad[i] : longest, NULL};
		const GbeCertOrder order = {.name = "x",
					    .hosts = (char *const *)hosts,
					    .not_before = now,
					    .not_after = now + DAY};
		g_autoptr(GBytes) certificate = NULL;
		g_autoptr(GbePrivateKey) key = NULL;
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!gbe_issue(issuer, &order, &certificate, &key, &error), "issued: %s",
			      hosts[1]);
		ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_USAGE));
		ck_assert_ptr_null(certificate);
		ck_assert_ptr_null(key);
	}
}
END_TEST

static const char *const own_keys[] = {
    "openssl genrsa -out own.key 2048",
    "openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072 -out own.key",
    "openssl ecparam -name prime256v1 -genkey -out own.key", /* parameters first */
    "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out own.key",
    "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-521 -out own.key",
    "openssl genpkey -algorithm ED25519 -out own.key",
    "openssl genpkey -algorithm ED448 -out own.key",
};

START_TEST(given_authorities)
{
	static const char *const hosts[] = {"localhost", NULL};
	g_autoptr(GbeIssuer) issuer = NULL;
	g_autoptr(GError) error = NULL;

	run(own_keys[_i]);
	run("openssl req -x509 -key own.key -out own.crt -days 9 -subj '/O=x/CN=own' -addext "
	    "keyUsage=critical,keyCertSign");
	ck_assert_msg(open_files("own.crt", "own.key", &issuer, &error), "%s",
		      error != NULL ? error->message : "");
	issue(issuer, GBE_USE_SERVER, hosts, "server");
	says("openssl verify -x509_strict -purpose sslserver -CAfile own.crt server.crt", "OK");
	run("test \"$(grep -c BEGIN server.crt)\" = 1");
}
END_TEST

/* The root is kept elsewhere; it has signed the one that signs here. */
START_TEST(intermediate)
{
	g_autoptr(GbeIssuer) issuer = NULL;

	run("openssl req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.crt -days 9 "
	    "-subj /CN=root -addext keyUsage=critical,keyCertSign\n"
	    "openssl req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /CN=middle\n"
	    "openssl x509 -req -in own.csr -CA root.crt -CAkey root.key -CAcreateserial -days 9 "
	    "-extfile <(printf "
	    "'basicConstraints=critical,CA:TRUE,pathlen:0\\nkeyUsage=critical,keyCertSign\\n"
	    "subjectKeyIdentifier=hash\\nauthorityKeyIdentifier=keyid\\n') -out own.crt\n"
	    /* With the key in it, text before it, and no newline at its end. */
	    "{ echo hello; cat own.key own.crt; head -c -1 root.crt; } >chain.crt");
	ck_assert(open_files("chain.crt", "own.key", &issuer, NULL));
	ck_assert_str_eq(issuer->certificate->subject, "CN=middle");
	issue(issuer, GBE_USE_CLIENT, NULL, "client");
	save("trusted.crt", issuer->chain);
	run("test \"$(grep -c BEGIN client.crt)\" = 2");
	says("openssl verify -x509_strict -CAfile root.crt -untrusted client.crt client.crt", "OK");
	/* A file that every user can read has no key. A certificate can be put before another one. */
	says_not("cat trusted.crt", "PRIVATE");
	run("test \"$(grep -c BEGIN trusted.crt)\" = 2");
	run("cat trusted.crt trusted.crt >twice.crt\n"
	    "test \"$(openssl crl2pkcs7 -nocrl -certfile twice.crt | openssl pkcs7 -print_certs | "
	    "grep -c BEGIN)\" = 4");
}
END_TEST

static const struct {
	const char *script, *why;
} not_authorities[] = {
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x -addext "
     "basicConstraints=critical,CA:FALSE",
     "may not sign"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x -addext keyUsage=digitalSignature",
     "may not sign"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; openssl genrsa -out k 2048",
     "not that of"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; openssl pkey -in k -aes128 -passout "
     "pass:x -out k2; mv k2 k",
     "passphrase"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; openssl rsa -in k -aes128 -passout "
     "pass:x -traditional -out k2; mv k2 k",
     "passphrase"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; openssl pkey -in k -pubout -out k2; mv "
     "k2 k",
     "not a private key"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; echo hello >k", "not a private key"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; : >k", "not a private key"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; head -c 900 k >k2; mv k2 k", "cut off"},
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x; head -c 500 c >c2; mv c2 c", "cut off"},
    /* Its serial number is another one. */
    {"openssl req -x509 -key k -out c -days 9 -subj /CN=x -outform DER\n"
     "printf '\\x55\\x55' | dd of=c bs=1 seek=18 conv=notrunc\n"
     "{ echo '-----BEGIN CERTIFICATE-----'; base64 c; echo '-----END CERTIFICATE-----'; } >c2\n"
     "mv c2 c",
     "damaged"},
    {": >c", "no certificate"},
    {"cp k c", "no certificate"},
    {"openssl req -new -key k -out c -subj /CN=x", "no certificate"},
    {"head -c 100000 /dev/zero >c", "no certificate"},
    {"openssl genrsa -out k 1024; openssl req -x509 -key k -out c -days 9 -subj /CN=x", "weak"},
};

START_TEST(refused_authorities)
{
	g_autoptr(GbeIssuer) issuer = NULL;
	g_autoptr(GError) error = NULL;

	run("openssl genrsa -out k 2048");
	run(not_authorities[_i].script);
	ck_assert_msg(!open_files("c", "k", &issuer, &error), "%s", not_authorities[_i].script);
	ck_assert_ptr_null(issuer);
	ck_assert_msg(strstr(error->message, not_authorities[_i].why) != NULL, "%s: %s",
		      not_authorities[_i].script, error->message);
	ck_assert_int_eq(error->code, GBE_ERROR_REFUSED);
}
END_TEST

/* ---- requests ---- */

static bool
answer(const char *name, const GbeCertOrder *order, GBytes **ret_certificate, GError **error)
{
	g_autoptr(GbeIssuer) issuer = own_issuer();
	g_autoptr(GBytes) request = file(name);

	return gbe_issue_for_request(issuer, order, request, ret_certificate, error);
}

static const char *const request_keys[] = {
    "openssl genrsa -out k 2048",
    "openssl ecparam -name prime256v1 -genkey -noout -out k",
    "openssl genpkey -algorithm ED25519 -out k",
};

START_TEST(requests)
{
	GbeCertOrder order = {.use = GBE_USE_SERVER,
			      .not_before = now - 3600,
			      .not_after = now + DAY};
	static const char *const hosts[] = {"other", "10.0.0.1", NULL};
	g_autoptr(GBytes) certificate = NULL;

	run(request_keys[_i]);
	/* The certificate has the names of the request, and nothing else that it asks for. */
	run("openssl req -new -key k -out r -subj '/O=a, b/CN=x' -addext "
	    "subjectAltName=DNS:a.b,IP:::1,IP:1.2.3.4 -addext basicConstraints=critical,CA:TRUE "
	    "-addext keyUsage=keyCertSign -addext extendedKeyUsage=codeSigning");
	ck_assert(answer("r", &order, &certificate, NULL));
	save("c", certificate);
	says("openssl verify -x509_strict -purpose sslserver -CAfile ca.crt c", "OK");
	says("openssl x509 -in c -noout -subject", "O = \"a, b\", CN = x");
	says("openssl x509 -in c -noout -ext subjectAltName",
	     "DNS:a.b, IP Address:0:0:0:0:0:0:0:1, IP Address:1.2.3.4");
	says("openssl x509 -in c -noout -text", "CA:FALSE");
	says_not("openssl x509 -in c -noout -text", "Certificate Sign");
	says_not("openssl x509 -in c -noout -text", "Code Signing");
	run("cmp <(openssl x509 -in c -noout -pubkey) <(openssl pkey -in k -pubout)");
	g_clear_pointer(&certificate, g_bytes_unref);
	/* The operator's word counts. */
	order.hosts = (char *const *)hosts;
	order.use = GBE_USE_CLIENT;
	ck_assert(answer("r", &order, &certificate, NULL));
	save("c", certificate);
	says("openssl x509 -in c -noout -ext subjectAltName", "DNS:other, IP Address:10.0.0.1");
	says_not("openssl x509 -in c -noout -text", "a.b");
	says_not("openssl x509 -in c -noout -text", "Server Auth");
}
END_TEST

static const struct {
	const char *script, *why;
} bad_requests[] = {
    {"openssl genrsa -out k 1024; openssl req -new -key k -out r -subj /CN=x", "weak"},
    {"openssl ecparam -name secp192k1 -genkey -noout -out k; openssl req -new -key k -out r -subj "
     "/CN=x",
     "weak"},
    /* Its last bytes are the signature's. */
    {"openssl req -newkey rsa:2048 -nodes -keyout k -out r -subj /CN=x -outform DER\n"
     "printf '\\x55\\x55' | dd of=r bs=1 seek=$(($(stat -c %s r) - 9)) conv=notrunc\n"
     "{ echo '-----BEGIN CERTIFICATE REQUEST-----'; base64 r; echo '-----END CERTIFICATE "
     "REQUEST-----'; } >r2; mv r2 r",
     "not signed"},
    {": >r", "not a certificate request"},
    {"echo hello >r", "not a certificate request"},
    {"head -c 100000 /dev/zero >r", "not a certificate request"},
    {"openssl req -x509 -newkey rsa:2048 -nodes -keyout k -out r -subj /CN=x",
     "not a certificate request"},
    {"openssl req -newkey rsa:2048 -nodes -keyout k -out r -subj /CN=x; head -c 700 r >r2; mv r2 r",
     "not a certificate request"},
    /* An encrypted request is refused; no passphrase is asked for. */
    {"openssl req -newkey rsa:2048 -nodes -keyout k -out r -subj /CN=x\n"
     "sed -i '1a Proc-Type: 4,ENCRYPTED\\nDEK-Info: AES-128-CBC,"
     "00112233445566778899AABBCCDDEEFF\\n' r",
     "not a certificate request"},
    /* Names that are no list of names, and names twice. */
    {"openssl req -newkey rsa:2048 -nodes -keyout k -out r -subj /CN=x -addext "
     "subjectAltName=DER:0102",
     "cannot be read"},
};

START_TEST(refused_requests)
{
	const GbeCertOrder order = {.not_before = now, .not_after = now + DAY};
	g_autoptr(GBytes) certificate = NULL;
	g_autoptr(GError) error = NULL;

	run(bad_requests[_i].script);
	ck_assert_msg(!answer("r", &order, &certificate, &error), "%s", bad_requests[_i].script);
	ck_assert_ptr_null(certificate);
	ck_assert_msg(strstr(error->message, bad_requests[_i].why) != NULL, "%s: %s",
		      bad_requests[_i].script, error->message);
	ck_assert(error->code == GBE_ERROR_REFUSED || error->code == GBE_ERROR_CORRUPT);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("certs-issue");
	TCase *tcase = tcase_create("issue");

	tcase_add_checked_fixture(tcase, prepare, clean);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, authority);
	tcase_add_test(tcase, leaves);
	tcase_add_loop_test(tcase, for_what_it_was_asked, 0, G_N_ELEMENTS(odd_hosts));
	tcase_add_test(tcase, no_hosts);
	tcase_add_loop_test(tcase, given_authorities, 0, G_N_ELEMENTS(own_keys));
	tcase_add_test(tcase, intermediate);
	tcase_add_loop_test(tcase, refused_authorities, 0, G_N_ELEMENTS(not_authorities));
	tcase_add_loop_test(tcase, requests, 0, G_N_ELEMENTS(request_keys));
	tcase_add_loop_test(tcase, refused_requests, 0, G_N_ELEMENTS(bad_requests));
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
