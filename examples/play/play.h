/* The playground's C interface: lessons with values that the user edits.
 *
 * All strings are UTF-8 JSON unless stated otherwise, and live until the next call. No exception
 * leaves a function: a failure returns 0 or NULL, and play_error() describes it. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Returns all lessons: [{number, title, source, dtype, parts: [{name, title, training, call,
 * fields: [{name, kind, label, value, lowest, highest}], passes: [text], untraced}]}]. A kind is
 * number, integer, integers, row, rows or text. `passes` has a sentence for some backward passes.
 * `untraced` says why the part's steps have no trace; it is "" if they have one. */
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

/* Returns how many backward passes the part made when it ran with a trace. */
int play_passes(void);

/* Returns the text that the lesson has printed since the last step (plain text, not JSON). */
const char* play_text(void);

/* Returns a picture of what the model in training has learned: {"boundary": …},
 * {"sample": …, "attention": …}, or {} if there is none. */
const char* play_picture(void);

/* Returns the last failure: {"field": name or "", "message": text}, or {} after a success. */
const char* play_error(void);

/* Returns all exercises: [{number, kind, title, statement: [line], choices: [text], source}].
 *
 *   which   the choices are backward passes, of which one is right
 *   factor  the choices are factors for the □ of dx = dy · □
 *   bug     the choices are the lines of a backward pass, of which one is wrong; `source` is the
 *           URL of the bug's report, and is "" for the other kinds
 *
 * Leading spaces of a line are its indentation. A text between backticks is a formula. */
const char* play_exercises(void);

/* Runs the gradient checker on the choice with index `choice`, from 0, of an exercise. Returns
 * {"correct": bool, "report": text of the checker, "explanation": text}, or NULL if there is no
 * such exercise or choice. For a bug, the report is about the code as given. If the chosen line is
 * the wrong one, the report about the fixed code follows. */
const char* play_check(int exercise, int choice);

#ifdef __cplusplus
}
#endif
