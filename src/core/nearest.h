/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The word that somebody meant who mistyped one. */
#pragma once

/* The one of @words (NULL-terminated) that a slip or two away is @word, or that @word begins; else NULL. Borrowed. */
const char *gbe_nearest_word(const char *word, const char *const *words);
