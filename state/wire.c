/* wire.c - see state/wire.h. */
#include "state/wire.h"

#include <string.h>

static void put_number(unsigned char *out, uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		out[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get_number(const unsigned char *in, int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)in[i] << 8 * i;
	return value;
}

#define HAS_MESSAGES (UINT32_C(1) << 31)

size_t wh_state_put_header(unsigned char out[WH_STATE_HEADER_BYTES], const struct wh_state_header *header)
{
	unsigned char *at = out + WH_STATE_FIXED_BYTES;

	put_number(out, header->subgroup, 4);
	put_number(out + 4, header->shard, 4);
	put_number(out + 8, header->view, 8);
	put_number(out + 16, header->position.sequence, 8);
	put_number(out + 24, header->position.count | (header->has_messages ? HAS_MESSAGES : 0), 4);
	for (uint32_t i = 0; i < header->position.count; i++, at += WH_STATE_SENDER_BYTES) {
		put_number(at, header->position.of[i].id, 4);
		put_number(at + 4, header->position.of[i].next, 8);
	}
	return (size_t)(at - out);
}

void wh_state_put_length(unsigned char out[WH_STATE_LENGTH_BYTES], uint32_t length)
{
	put_number(out, length, WH_STATE_LENGTH_BYTES);
}

void wh_state_put_message(unsigned char out[WH_STATE_MESSAGE_BYTES], const struct whorl_message *message)
{
	put_number(out, message->sender, 4);
	put_number(out + 4, message->indexes, 4);
	put_number(out + 8, message->bytes, 8);
	put_number(out + 16, message->index, 8);
	put_number(out + 24, message->view, 8);
	put_number(out + 32, message->sequence, 8);
	put_number(out + 40, message->incarnation, 8);
}

bool wh_state_get_message(const unsigned char in[WH_STATE_MESSAGE_BYTES], struct whorl_message *out)
{
	*out = (struct whorl_message){.size = sizeof(*out),
				      .sender = (uint32_t)get_number(in, 4),
				      .indexes = (uint32_t)get_number(in + 4, 4),
				      .bytes = (size_t)get_number(in + 8, 8),
				      .index = get_number(in + 16, 8),
				      .view = get_number(in + 24, 8),
				      .sequence = get_number(in + 32, 8),
				      .incarnation = get_number(in + 40, 8),
				      .parts = 1};
	return out->sender < WH_STATE_SENDERS_MAX && out->indexes > 0;
}

void wh_state_parser_init(struct wh_state_parser *parser, uint32_t subgroup, uint32_t shard, uint64_t view)
{
	memset(parser, 0, sizeof(*parser));
	parser->header.subgroup = subgroup;
	parser->header.shard = shard;
	parser->header.view = view;
}

static enum wh_state_part end_as_broken(struct wh_state_parser *parser, const char *why)
{
	parser->at = WH_AT_END;
	parser->wrong = why;
	return WH_PART_BROKEN;
}

static enum wh_state_part header_is_whole(struct wh_state_parser *parser)
{
	parser->at = WH_AT_LENGTH;
	return WH_PART_HEADER;
}

static enum wh_state_part take_header(struct wh_state_parser *parser)
{
	struct wh_state_header *header = &parser->header;
	uint64_t view = get_number(parser->word + 8, 8);

	if (get_number(parser->word, 4) != header->subgroup)
		return end_as_broken(parser, "it is of another subgroup");
	if (view < header->view) {
		parser->at = WH_AT_END;
		return WH_PART_STALE;
	}
	if (get_number(parser->word + 4, 4) != header->shard)
		return end_as_broken(parser, "it is of another shard");
	header->view = view;
	header->position.sequence = get_number(parser->word + 16, 8);
	parser->left = (uint32_t)get_number(parser->word + 24, 4) & ~HAS_MESSAGES;
	header->has_messages = (get_number(parser->word + 24, 4) & HAS_MESSAGES) != 0;
	if (parser->left > WH_STATE_SENDERS_MAX)
		return end_as_broken(parser, "its position has too many senders");
	if (parser->left == 0)
		return header_is_whole(parser);
	parser->at = WH_AT_SENDER;
	return WH_PART_NONE;
}

static enum wh_state_part take_sender(struct wh_state_parser *parser)
{
	struct wh_position *position = &parser->header.position;
	struct wh_position_of of = {.id = (uint32_t)get_number(parser->word, 4),
				    .next = get_number(parser->word + 4, 8)};

	if (of.id >= WH_STATE_SENDERS_MAX)
		return end_as_broken(parser, "its position has a sender that cannot be");
	for (uint32_t i = 0; i < position->count; i++)
		if (position->of[i].id == of.id)
			return end_as_broken(parser, "its position has a sender twice");
	position->of[position->count++] = of;
	return --parser->left == 0 ? header_is_whole(parser) : WH_PART_NONE;
}

static enum wh_state_part take_length(struct wh_state_parser *parser)
{
	parser->left = (uint32_t)get_number(parser->word, WH_STATE_LENGTH_BYTES);
	if (parser->left > WH_STATE_PIECE)
		return end_as_broken(parser, "a piece is too long");
	if (parser->left > 0) {
		parser->at = WH_AT_PIECE;
	} else if (parser->header.has_messages && !parser->at_messages) {
		parser->at_messages = true;
	} else {
		parser->at = WH_AT_END;
		return WH_PART_END;
	}
	return WH_PART_NONE;
}

/* Copies until the word has `bytes`. */
static bool complete_word(struct wh_state_parser *parser, uint32_t bytes, const unsigned char **from,
			  const unsigned char *end)
{
	while (parser->held < bytes && *from < end)
		parser->word[parser->held++] = *(*from)++;
	if (parser->held < bytes)
		return false;
	parser->held = 0;
	return true;
}

static enum wh_state_part take_bytes(struct wh_state_parser *parser, const unsigned char **from,
				     const unsigned char *end)
{
	size_t there = (size_t)(end - *from);

	parser->bytes = *from;
	parser->count = there < parser->left ? there : parser->left;
	*from += parser->count;
	parser->left -= (uint32_t)parser->count;
	if (parser->left == 0)
		parser->at = WH_AT_LENGTH;
	return parser->at_messages ? WH_PART_REFUSED : WH_PART_BYTES;
}

enum wh_state_part wh_state_parse(struct wh_state_parser *parser, const unsigned char **from, const unsigned char *end)
{
	enum wh_state_part part = WH_PART_NONE;

	while (part == WH_PART_NONE && *from < end && parser->at != WH_AT_END) {
		if (parser->at == WH_AT_HEADER) {
			if (complete_word(parser, WH_STATE_FIXED_BYTES, from, end))
				part = take_header(parser);
		} else if (parser->at == WH_AT_SENDER) {
			if (complete_word(parser, WH_STATE_SENDER_BYTES, from, end))
				part = take_sender(parser);
		} else if (parser->at == WH_AT_LENGTH) {
			if (complete_word(parser, WH_STATE_LENGTH_BYTES, from, end))
				part = take_length(parser);
		} else {
			part = take_bytes(parser, from, end);
		}
	}
	return part;
}
