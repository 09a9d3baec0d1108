/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the XML that an object store answers, in pieces, by GLib's parser of markup. That parser expands no entities
 * that a document defines. Depth, text and size are limited. Attributes and name spaces are ignored. The root element
 * is checked before any other element is passed on.
 */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Begins every message about an answer of the wrong type. */
#define GBE_ANSWER_FOREIGN "the answer is not that of an object store"
/* The root of an error. An answer may have it instead of any other root. */
#define GBE_ANSWER_ERROR "Error"

typedef struct GbeAnswer GbeAnswer;

/* Called at the end of each element. @depth 0: the root. @text: of an element without elements, UTF-8. */
typedef void (*GbeAnswerElement)(const char *name, guint depth, const char *text, gpointer data);

/* @root: the expected root element, a constant. */
GbeAnswer *gbe_answer_new(const char *root, GbeAnswerElement element, gpointer data);
void gbe_answer_free(GbeAnswer *answer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeAnswer, gbe_answer_free)

/* False: the bytes are not such an answer; gbe_answer_end() gives the reason. */
bool gbe_answer_push(GbeAnswer *answer, const void *bytes, gsize size);
/* GBE_ERROR_CANNOT_TELL: it was none, or not all of one. */
bool gbe_answer_end(GbeAnswer *answer, GError **error) GBE_CHECKED;
