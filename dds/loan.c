/* loan.c - memory that writers lend: a claim in the window of the channel, with room for the head in front. See node.h.
 *
 * A sample that lies in one slot is built there. Where it takes several, or its type is aligned as no slot is, the program gets memory beside
 * them, and writing copies from there: for the program it is one piece in any case, and its place in the order is that of the loan.
 *
 * What takes a loan off the list has it alone, and finishes it: a function that writes, the one that gives back, the end of the writer.
 */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

#define ALIGN 64 /* of memory beside the slots: as types are at most */

/* Where the sample lies, `from` bytes into the message. False: memory is out. */
static bool place(struct wh_dds_write_loan *loan, size_t from, size_t bytes, const struct whorl_dds_type *type)
{
	size_t room = 0;
	void *part = NULL;

	loan->bytes = bytes;
	if (whorl_claim_part(&loan->claim, 0, &part, &room) == WHORL_OK && room >= from + bytes &&
	    ((uintptr_t)part + from) % type->align == 0) {
		loan->data = (unsigned char *)part + from;
		return true;
	}
	loan->beside = aligned_alloc(ALIGN, (bytes + ALIGN) / ALIGN * ALIGN);
	loan->data = loan->beside;
	return loan->beside != NULL;
}

void wh_dds_loan_drop(struct wh_dds_write_loan *loan)
{
	if (loan == NULL)
		return;
	if (loan->open)
		(void)whorl_abort(&loan->claim);
	free(loan->beside);
	free(loan);
}

struct wh_dds_write_loan *wh_dds_loan_take(struct wh_dds_writer_entity *writer, const void *data)
{
	struct wh_dds_write_loan **at = &writer->loans, *loan;

	if (data == NULL ||
	    wh_load_acquire(&writer->loan_count) == 0) /* partner: add. The program has handed `data` on */
		return NULL;
	pthread_mutex_lock(&writer->end.base.lock);
	while (*at != NULL && (*at)->data != data)
		at = &(*at)->next;
	loan = *at;
	if (loan != NULL) {
		*at = loan->next;
		(void)wh_fetch_add(&writer->loan_count, UINT64_MAX);
	}
	pthread_mutex_unlock(&writer->end.base.lock);
	return loan;
}

whorl_dds_return wh_dds_loans_return(struct wh_dds_writer_entity *writer, void *const *data, size_t count)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	for (size_t i = 0; i < count; i++) {
		struct wh_dds_write_loan *loan = wh_dds_loan_take(writer, data[i]);

		if (loan == NULL)
			result = WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
		wh_dds_loan_drop(loan);
	}
	return result;
}

void wh_dds_loans_end(struct wh_dds_writer_entity *writer)
{
	struct wh_dds_write_loan *loans;

	pthread_mutex_lock(&writer->end.base.lock);
	writer->lends_no_more = true;
	loans = writer->loans;
	writer->loans = NULL;
	wh_store_relaxed(&writer->loan_count, 0);
	pthread_mutex_unlock(&writer->end.base.lock);
	for (struct wh_dds_write_loan *next; loans != NULL; loans = next) {
		next = loans->next;
		wh_dds_loan_drop(loans);
	}
}

/* False: the writer was deleted meanwhile. */
static bool add(struct wh_dds_writer_entity *writer, struct wh_dds_write_loan *loan)
{
	bool lends;

	pthread_mutex_lock(&writer->end.base.lock);
	lends = !writer->lends_no_more;
	if (lends) {
		loan->next = writer->loans;
		writer->loans = loan;
		(void)wh_fetch_add(&writer->loan_count, 1); /* partner: wh_dds_loan_take */
	}
	pthread_mutex_unlock(&writer->end.base.lock);
	return lends;
}

static whorl_dds_return lend(const char *function, struct wh_dds_writer_entity *writer, size_t bytes, void **data)
{
	const struct whorl_dds_type *type = writer->end.topic->type;
	size_t head = WH_DDS_HEAD_BYTES + (wh_dds_type_is_keyed(type) ? WH_DDS_KEY_BYTES : 0);
	struct wh_dds_write_loan *loan = calloc(1, sizeof(*loan));
	enum whorl_result result;

	if (loan == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	result = wh_dds_writer_claim(writer, head + bytes, &loan->claim);
	if (result != WHORL_OK) {
		free(loan);
		return result == WHORL_INVALID
			       ? wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%s", whorl_invalid_text())
			       : wh_dds_line_says(function, writer->end.stream, result);
	}
	loan->open = true;
	if (!place(loan, head, bytes, type)) {
		wh_dds_loan_drop(loan);
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	}
	if (!add(writer, loan)) {
		wh_dds_loan_drop(loan);
		return wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the writer has been deleted");
	}
	*data = loan->data;
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_request_loan(whorl_dds_entity entity, size_t bytes, void **data)
{
	const struct whorl_dds_type *type;
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (data == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the pointer");
	*data = NULL;
	result = WH_DDS_HOLD(entity, WH_DDS_KIND(WH_DDS_WRITER), &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	type = ((struct wh_dds_endpoint_entity *)base)->topic->type;
	if ((type->flags & WHORL_DDS_TYPE_BYTES) == 0 && bytes == 0)
		bytes = type->bytes;
	if (!wh_dds_type_fits(type, bytes)) {
		result = WH_DDS_SAY(BAD_PARAMETER, "a sample of %zu bytes is none of the type", bytes);
	} else if (!wh_dds_node_call(base->node)) {
		result = WH_DDS_SAY(ALREADY_DELETED, "the participant has been deleted");
	} else {
		result = lend(__func__, (struct wh_dds_writer_entity *)base, bytes, data);
		wh_dds_node_called(base->node);
	}
	wh_dds_let_go(base);
	return result;
}
