/* The playground's C interface: lessons with values that the user edits.
 *
 * All strings are UTF-8 JSON unless stated otherwise, and live until the next call. No exception
 * leaves a function: a failure returns 0 or NULL, and play_error() describes it. */
#ifndef GRADUS_PLAY_H
#define GRADUS_PLAY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Returns all lessons: [{number, title, source, dtype, parts: [{name, title, training, call, fields:
 * [{name, kind, label, value, lowest, highest}]}]}]. A kind is number, integer, integers, row, rows, choice
 * or text. */
const char* play_lessons(void);

/* Starts a part of a lesson. `parameters` is {"part": name, field: value, …}; missing fields have
 * their initial value. Returns 1 on success. */
int play_begin(int lesson, const char* parameters);

/* Makes the next training step. A part that does not train runs from its start, and the k-th call
 * records its k-th backward pass. Returns the trace (docs/reference/trace_format.md) if `traced` is
 * not 0, otherwise "{}". */
const char* play_step(int traced);

/* Makes up to `count` training steps without traces and writes their losses. Returns the number of
 * steps made: fewer than `count` after a failure. */
int play_steps(int count, double* losses);

/* Returns the loss of the last step, or NaN if the part does not train. */
double play_loss(void);

/* Returns what the lesson has printed since the last step, as plain text. */
const char* play_text(void);

/* Returns what the model in training has learned: {"boundary": …}, {"sample": …, "attention": …},
 * or {}. */
const char* play_picture(void);

/* Returns the last failure: {"field": name or "", "message": text}, or {} after a success. */
const char* play_error(void);

/* Checks a backward pass of lesson 17: `choice` of `exercise`. Returns {"correct": bool, "report":
 * text}. */
const char* play_check(int exercise, int choice);

#ifdef __cplusplus
}
#endif

#endif
