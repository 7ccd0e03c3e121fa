#include "tests/support/sim_pair.h"

/* Byte k of every stream. */
static unsigned char byte_at(uint64_t k)
{
	return (unsigned char)(k * 7 + k / 251);
}

bool write_some(struct pair *pair, size_t most)
{
	unsigned char bytes[MOST] = {0};
	ptrdiff_t count;

	for (size_t k = 0; k < most; k++)
		bytes[k] = byte_at(pair->written + k);
	count = pair->writer->ops->write(pair->writer, bytes, most);
	ck_assert_int_le(count, (ptrdiff_t)most);
	pair->refused = count < 0;
	pair->written += count > 0 ? (uint64_t)count : 0;
	return count > 0;
}

bool read_some(struct pair *pair, size_t most)
{
	unsigned char bytes[MOST];
	ptrdiff_t count = pair->reader->ops->read(pair->reader, bytes, most);

	ck_assert_int_le(count, (ptrdiff_t)most);
	pair->closed = count < 0;
	for (ptrdiff_t k = 0; k < count; k++)
		ck_assert_uint_eq(bytes[k], byte_at(pair->read++));
	ck_assert_uint_le(pair->read, pair->written);
	return count > 0;
}

void fill(struct pair *pair)
{
	while (write_some(pair, MOST))
		;
}

void drain(struct pair *pair)
{
	while (read_some(pair, MOST))
		;
}

void close_writer(struct pair *pair)
{
	pair->writer->ops->close(pair->writer);
	pair->writer = NULL;
}

void close_reader(struct pair *pair)
{
	pair->reader->ops->close(pair->reader);
	pair->reader = NULL;
}

struct wh_stream *open_stream(struct lab *lab, uint32_t from, uint32_t to)
{
	struct wh_stream *stream;

	ck_assert_int_eq(lab->node[from]->ops->stream_open(lab->node[from], to, TAG, &stream), WHORL_OK);
	return stream;
}

struct pair make_pair(struct wh_sim_options options)
{
	struct pair pair = {.lab = sim_lab_make(options)};

	pair.writer = open_stream(pair.lab, 0, 1);
	run(pair.lab, LONG_NS);
	pair.reader = pair.lab->stream[1];
	ck_assert_ptr_nonnull(pair.reader);
	ck_assert_uint_eq(pair.lab->tag[1], TAG);
	return pair;
}

void end_pair(struct pair *pair)
{
	if (pair->writer != NULL)
		close_writer(pair);
	if (pair->reader != NULL)
		close_reader(pair);
	run(pair->lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_under_way(pair->lab->sim), 0);
	end(pair->lab);
}
