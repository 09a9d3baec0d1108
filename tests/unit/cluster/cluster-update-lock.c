/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The update lock: every step from every state, and devices that follow the steps in every order. Also the stage of an
 * update, and the lock's records in etcd and in the state.
 */
#include "lib/unit.h"

#include <string.h>

#include "cluster/core/update-lock.h"
#include "core/json/parse.h"
#include "core/record/update-lock.h"

static const char *const turns[GBE_N_TURNS] = {"unknown", "none",  "by hand", "staged", "trial",
					       "red",	  "green", "failed",  "dropped"};

/* Said once more, by what must hold. */
START_TEST(every_step)
{
	for (GbeTurn turn = 0; turn < GBE_N_TURNS; turn++)
		for (GbeLockKey key = 0; key < GBE_N_LOCK_KEYS; key++)
			for (guint all = 0; all < 2; all++) {
				GbeLockStep step = gbe_lock_step(turn, key, all == 1);
				bool own =
				    key == GBE_LOCK_KEY_OWN || key == GBE_LOCK_KEY_OWN_FAILED;
				bool ends = turn == GBE_TURN_GREEN ||
					    (turn == GBE_TURN_DROPPED && key == GBE_LOCK_KEY_OWN);
				bool fails = turn == GBE_TURN_RED || turn == GBE_TURN_FAILED;

				ck_assert_msg((step == GBE_LOCK_TAKE) ==
						  (turn == GBE_TURN_STAGED &&
						   key == GBE_LOCK_KEY_FREE && all == 1),
					      "%s, key %u: %u", turns[turn], key, step);
				/* Another member's key is not changed, and no key is changed if etcd does not answer. */
				if (!own)
					ck_assert(step == GBE_LOCK_WAIT ||
						  step == GBE_LOCK_FORGET || step == GBE_LOCK_TAKE);
				if (key == GBE_LOCK_KEY_UNKNOWN || turn == GBE_TURN_UNKNOWN ||
				    turn == GBE_TURN_NONE)
					ck_assert_int_eq(step, GBE_LOCK_WAIT);
				else if (own) {
					ck_assert_int_eq(step == GBE_LOCK_RELEASE, ends);
					ck_assert_int_eq(step == GBE_LOCK_FAIL, fails);
				}
				/* A held lock stays held when the other members are away. */
				if (turn == GBE_TURN_STAGED && key == GBE_LOCK_KEY_OWN)
					ck_assert_int_eq(step, GBE_LOCK_HOLD);
				/* A record is kept as long as its update waits. */
				if (turn == GBE_TURN_STAGED)
					ck_assert_int_ne(step, GBE_LOCK_FORGET);
			}
}
END_TEST

/*
 * Three devices, each idle (0), staged, on trial, failed or down in its update, and the key; every state that can be
 * reached. A device goes down into its update only when its last step was to hold the lock. At no time are two in an
 * update.
 */
enum { IDLE, STAGED, ALLOWED, DOWN, TRIAL, RED, FAILED, N_PHASES };
#define DEVICES 3
#define KEYS (1 + 2 * DEVICES)

typedef struct {
	guint phase[DEVICES];
	guint key; /* 0: free; 1 + device: held; 1 + DEVICES + device: failed */
} World;

static guint
code_of(const World *world)
{
	guint code = world->key;

	for (guint i = 0; i < DEVICES; i++)
		code = code * N_PHASES + world->phase[i];
	return code;
}

static GbeLockKey
key_for(const World *world, guint device)
{
	if (world->key == 0)
		return GBE_LOCK_KEY_FREE;
	if ((world->key - 1) % DEVICES != device)
		return GBE_LOCK_KEY_OTHER;
	return world->key > DEVICES ? GBE_LOCK_KEY_OWN_FAILED : GBE_LOCK_KEY_OWN;
}

static bool
all_work(const World *world)
{
	for (guint i = 0; i < DEVICES; i++)
		if (world->phase[i] == DOWN)
			return false;
	return true;
}

/* The timer's call on @device. */
static World
step_of(World world, guint device)
{
	static const GbeTurn of_phase[] = {
	    [IDLE] = GBE_TURN_NONE,   [STAGED] = GBE_TURN_STAGED, [ALLOWED] = GBE_TURN_STAGED,
	    [TRIAL] = GBE_TURN_TRIAL, [RED] = GBE_TURN_RED,	  [FAILED] = GBE_TURN_FAILED,
	};
	guint *phase = &world.phase[device];

	switch (gbe_lock_step(of_phase[*phase], key_for(&world, device), all_work(&world))) {
	case GBE_LOCK_TAKE:
	case GBE_LOCK_HOLD:
		if (*phase == STAGED || *phase == ALLOWED) {
			*phase = ALLOWED;
			world.key = 1 + device;
		}
		break;
	case GBE_LOCK_FAIL:
		world.key = 1 + DEVICES + device;
		break;
	case GBE_LOCK_FORGET:
	case GBE_LOCK_RELEASE:
	case GBE_LOCK_WAIT:
		break;
	}
	return world;
}

static void
visit(World world, bool *seen, GArray *todo)
{
	guint code = code_of(&world), under_way = 0;

	if (seen[code])
		return;
	seen[code] = true;
	for (guint i = 0; i < DEVICES; i++)
		under_way +=
		    world.phase[i] == DOWN || world.phase[i] == TRIAL || world.phase[i] == RED ? 1
											       : 0;
	ck_assert_msg(under_way <= 1, "key %u: %u %u %u", world.key, world.phase[0], world.phase[1],
		      world.phase[2]);
	g_array_append_val(todo, world);
}

START_TEST(every_order)
{
	g_autofree bool *seen = g_new0(bool, KEYS *N_PHASES *N_PHASES *N_PHASES);
	g_autoptr(GArray) todo = g_array_new(false, false, sizeof(World));
	guint visited = 0;

	visit((World){{IDLE}, 0}, seen, todo);
	for (; visited < todo->len; visited++)
		for (guint i = 0; i < DEVICES; i++) {
			static const guint next[N_PHASES][3] = {
			    [IDLE] = {STAGED, STAGED, STAGED},
			    [STAGED] = {IDLE, IDLE, IDLE}, /* a reboot loses it */
			    [ALLOWED] = {DOWN, DOWN, DOWN},
			    [DOWN] = {TRIAL, FAILED, TRIAL},
			    [TRIAL] = {DOWN, RED, IDLE}, /* at last: green, and released */
			    [RED] = {DOWN, FAILED, RED},
			    [FAILED] = {STAGED, STAGED, STAGED},
			};
			World world = g_array_index(todo, World, visited);

			visit(step_of(world, i), seen, todo);
			for (guint k = 0; k < 3; k++) {
				World after = world;

				after.phase[i] = next[world.phase[i]][k];
				if (world.phase[i] == TRIAL && k == 2) {
					if (gbe_lock_step(GBE_TURN_GREEN, key_for(&world, i),
							  true) != GBE_LOCK_RELEASE)
						continue;
					after.key = 0;
				}
				visit(after, seen, todo);
			}
		}
	ck_assert_uint_gt(visited, 100);
}
END_TEST

START_TEST(where_it_is)
{
	g_autofree char *a = g_strdup_printf("os-%064d.0", 1),
			*b = g_strdup_printf("os-%064d.0", 2);
	GbeListed old = {.ref = {.id = a}, .booted = true},
		  update = {.ref = {.id = b}, .staged = true};
	g_autoptr(GPtrArray) listed = g_ptr_array_new();
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	const GbeDeployment by_hand = {NULL};

	facts->ledger = GBE_YES;
	g_ptr_array_add(listed, &old);
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, false, &by_hand), GBE_TURN_UNKNOWN);
	facts->booted.id = g_strdup(a);
	ck_assert_int_eq(gbe_turn_of(facts, NULL, NULL, false, &by_hand), GBE_TURN_UNKNOWN);
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, false, &by_hand), GBE_TURN_NONE);
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &by_hand), GBE_TURN_BY_HAND);
	ck_assert_int_eq(gbe_turn_of(facts, listed, &update, false, &by_hand), GBE_TURN_STAGED);
	ck_assert_int_eq(gbe_turn_of(facts, listed, &update, true, &update.ref), GBE_TURN_STAGED);
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &update.ref), GBE_TURN_DROPPED);
	/* A failed rehearsal keeps it back: staged, and not to be booted. */
	g_ptr_array_add(listed, &update);
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &update.ref), GBE_TURN_DROPPED);
	update.staged = false;
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &update.ref), GBE_TURN_FAILED);
	g_free(facts->booted.id);
	facts->booted.id = g_strdup(b);
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &update.ref), GBE_TURN_TRIAL);
	ck_assert_int_eq(gbe_turn_of(facts, listed, &old, true, &update.ref), GBE_TURN_STAGED);
}
END_TEST

/* During its trial, another update is staged, and dropped again: the lock stays the trial's. */
START_TEST(dropped_during_a_trial)
{
	g_autofree char *b = g_strdup_printf("os-%064d.0", 2),
			*c = g_strdup_printf("os-%064d.0", 3);
	const GbeDeployment wanted = {.id = c};
	GbeListed booted = {.ref = {.id = b}, .booted = true};
	g_autoptr(GPtrArray) listed = g_ptr_array_new();
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	GbeTakeOver *owner = gbe_take_over_new();
	GbeRunRecord *run = gbe_run_record_new();

	g_ptr_array_add(listed, &booted);
	facts->ledger = GBE_YES;
	facts->booted.id = g_strdup(b);
	facts->run = g_strdup("0123456789abcdef0123456789abcdef");
	owner->deployment.id = g_strdup(b);
	owner->run = g_strdup(facts->run);
	owner->sequence = run->sequence = 7;
	run->deployment.id = g_strdup(b);
	run->trial = GBE_YES;
	g_ptr_array_add(facts->take_overs, gbe_take_over_copy(owner));
	g_ptr_array_add(facts->runs, run);
	facts->owner = owner;
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &wanted), GBE_TURN_TRIAL);
	run->verdict = GBE_VERDICT_RED;
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &wanted), GBE_TURN_RED);
	run->verdict = GBE_VERDICT_GREEN;
	ck_assert_int_eq(gbe_turn_of(facts, listed, NULL, true, &wanted), GBE_TURN_DROPPED);
}
END_TEST

static void
read_text(const char *text, GbeUpdateLock *ret_lock)
{
	g_autoptr(JsonObject) object = NULL;

	(void)!gbe_json_parse_object(text, strlen(text), "it", &object, NULL);
	gbe_update_lock_from_json(object, ret_lock);
}

START_TEST(record)
{
	static const char *const none[] = {
	    "", "{}", "[]", "{\"id\":7}", "{\"id\":\"x\"}", "{\"id\":\"0123\"}"};
	GbeUpdateLock lock = {.id = (char *)"0123456789abcdef",
			      .member = (char *)"south",
			      .deployment = {.id = (char *)"os", .handle = (char *)"h"},
			      .state = GBE_UPDATE_LOCK_FAILED,
			      .reason = (char *)"red",
			      .since = 7,
			      .locked = true};
	g_autoptr(JsonObject) object = gbe_update_lock_to_json(&lock);
	g_autofree char *line = gbe_json_print_line(object);
	g_autofree char *said = gbe_update_lock_to_text(&lock);
	g_auto(GbeUpdateLock) again = {0}, later = {0};

	ck_assert_str_eq(said, "failed on south: red");
	read_text(line, &again);
	ck_assert_str_eq(again.id, lock.id);
	ck_assert_str_eq(again.deployment.handle, "h");
	ck_assert_int_eq(again.state, GBE_UPDATE_LOCK_FAILED);
	ck_assert(again.locked && again.since == 7);
	for (guint i = 0; i < G_N_ELEMENTS(none); i++) {
		g_auto(GbeUpdateLock) nobody = {0};
		g_autofree char *text = NULL;

		read_text(none[i], &nobody);
		ck_assert_ptr_null(nobody.id);
		text = gbe_update_lock_to_text(&nobody);
		ck_assert(g_str_has_prefix(text, "held by another program"));
	}
	/* A state of a later version's is no free lock. */
	read_text("{\"id\":\"0123456789abcdef\",\"state\":\"resting\",\"slots\":3}", &later);
	ck_assert_int_eq(later.state, GBE_UPDATE_LOCK_HELD);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cluster-update-lock");
	TCase *tcase = tcase_create("update-lock");

	tcase_add_test(tcase, every_step);
	tcase_add_test(tcase, every_order);
	tcase_add_test(tcase, where_it_is);
	tcase_add_test(tcase, dropped_during_a_trial);
	tcase_add_test(tcase, record);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
