/* line_int.h - what the files of a line share: line.c, line_views.c, line_messages.c, line_state.c, stream.c. All with the line's lock, or, of
 * streams and of what `loose` is told, with that of `loose`.
 */
#ifndef WH_DDS_LINE_INT_H
#define WH_DDS_LINE_INT_H

#include "dds/node.h"

/* ---- line.c ------------------------------------------------------------------------------------------------------------------ */

/* It has one. False: memory is out. */
bool wh_dds_line_machine(struct wh_dds_line *line);
void wh_dds_line_free_machine(struct wh_dds_line *line);
/* In one piece, to be freed: insets are copied, so it is for what is short. NULL: memory is out. */
unsigned char *wh_dds_flatten(const struct wh_dds_out *out, size_t *count);

/* ---- line_views.c ------------------------------------------------------------------------------------------------------------ */

void wh_dds_line_free_views(struct wh_dds_line *line);
/* It waits for its place; the view is the line's from now on. */
void wh_dds_line_hang_view(struct wh_dds_line *line, struct wh_dds_pending_view *view);
/* Those that wait up to this number hold now. */
void wh_dds_line_apply_views(struct wh_dds_line *line, uint64_t up_to);
/* A view of then, of a log that is read again: whorl_subgroup_options.on_past_view. */
void wh_dds_line_past_view(const struct whorl_view *view, void *ctx);
/* The call that waits for its state has seen it. Takes the lock. */
void wh_dds_line_note_ready(struct wh_dds_line *line);
/* The participant's thread looks again when its machine has something due. */
void wh_dds_line_due(struct wh_dds_line *line);

/* ---- line_messages.c --------------------------------------------------------------------------------------------------------- */

/* In one piece. NULL: memory is out. */
const void *wh_dds_line_whole(struct wh_dds_line *line, const struct whorl_message *message);
size_t wh_dds_line_offer(const struct whorl_message *messages, size_t count, void *ctx); /* whorl_on_offer */
bool wh_dds_line_refused(whorl_subgroup *subgroup, uint64_t refused_ms, void *ctx);      /* whorl_on_refused */

/* ---- line_state.c ------------------------------------------------------------------------------------------------------------ */

struct whorl_state wh_dds_line_state(struct wh_dds_line *line);

/* ---- stream.c ---------------------------------------------------------------------------------------------------------------- */

size_t wh_dds_stream_offer(const struct whorl_message *messages, size_t count, void *ctx); /* whorl_on_offer */
void wh_dds_stream_members(struct wh_dds_line *stream, const struct wh_dds_pending_view *view);
/* Writers that have ended, and have been heard out, are nothing any more: a batch of its own. With the lock of `loose`. */
void wh_dds_stream_settle(struct wh_dds_line *loose);
/* A reader was too slow: all that read the stream hear nothing any more, and others are told. */
void wh_dds_stream_leave(struct wh_dds_line *stream);

#endif
