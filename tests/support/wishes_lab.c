#include "tests/support/wishes_lab.h"

static const struct wh_subgroup_text lab_texts[] = {
	{"file", "all", "all", 1, 1}, {"c", "wish", "all", 1, 1}, {"some", "1,2", "all", 2, 1}};
const struct wh_layout_config lab_layout = {lab_texts, 3, NULL, NULL};

void lab_make_large(struct wh_parameters *is)
{
	is->message_bytes = 112; /* the next multiple of 16 */
	is->large_bytes = (uint64_t)is->window * is->message_bytes;
}

const char *lab_take_wish(struct wh_wish *out, const char *text)
{
	size_t length = strcspn(text, " +w*%");

	*out = (struct wh_wish){.parameters = {.ordered = true, .window = LAB_WINDOW, .message_bytes = 100}};
	ck_assert_uint_lt(length, sizeof(out->name));
	memcpy(out->name, text, length);
	for (text += length; *text != ' ' && *text != '\0'; text++) {
		out->sends = out->sends || *text == '+';
		if (*text == 'w')
			out->parameters.window = LAB_OTHER_WINDOW;
		if (*text == '*')
			lab_make_large(&out->parameters);
		out->parameters.durable = out->parameters.durable || *text == '%';
	}
	return text + strspn(text, " ");
}

struct wh_wish_set *lab_set(uint64_t number, const char *text)
{
	struct wh_wish_set *set = calloc(1, sizeof(*set));

	ck_assert_ptr_nonnull(set);
	set->number = number;
	while (*text != '\0') {
		ck_assert_uint_lt(set->count, WH_WISHES_MAX);
		text = lab_take_wish(&set->wishes[set->count++], text);
	}
	return set;
}

static char *lab_show_one(char *at, const struct wh_view_subgroup *it)
{
	at += sprintf(at, "%s#%u@%u[", it->name, wh_birth_seat(it->birth), (unsigned)wh_birth_view(it->birth));
	for (uint32_t i = 0; i < it->member_count; i++) {
		uint32_t rank = it->members[i];

		at += sprintf(at, "%s%u", i > 0 ? " " : "", rank);
		at += sprintf(at, "%s%s%s", wh_rank_find(it->senders, it->sender_count, rank) >= 0 ? "s" : "",
			      wh_rank_find(it->resting, it->resting_count, rank) >= 0 ? "r" : "",
			      wh_rank_find(it->entered, it->entered_count, rank) >= 0 ? "!" : "");
	}
	return at + sprintf(at, "]");
}

const char *lab_show(char text[4096], const struct wh_view *view)
{
	char *at = text;

	text[0] = '\0';
	for (uint32_t i = 0; i < view->dynamic_count; i++) {
		if (i > 0)
			*at++ = ' ';
		at = lab_show_one(at, &wh_view_dynamic(view)[i]);
	}
	return text;
}

struct wh_view *lab_copy(const struct wh_view *view)
{
	struct wh_error err = {.code = WHORL_OK};
	struct wh_view *read = NULL;
	unsigned char *bytes;
	size_t count;

	ck_assert_int_eq(wh_view_encode(&bytes, &count, view), WHORL_OK);
	ck_assert_msg(wh_view_decode(&read, bytes, count, &lab_layout, WH_NODES_MAX, &err) == WHORL_OK, "%s", err.text);
	ck_assert(wh_view_equals(view, read));
	free(bytes);
	return read;
}

void wishes_lab_begin(struct lab *lab, uint32_t count)
{
	*lab = (struct lab){.view = NULL};
	ck_assert_int_eq(view_of_all(&lab->view, count, &lab_layout, NULL), WHORL_OK);
}

void lab_wish(struct lab *lab, uint32_t id, const char *text)
{
	uint64_t number = lab->sets[id] != NULL ? lab->sets[id]->number + 1 : 1;

	free(lab->sets[id]);
	lab->sets[id] = lab_set(number, text);
	memset(lab->refused[id], 0, sizeof(lab->refused[id]));
}

static void lab_forget(struct lab *lab)
{
	wh_view_free(lab->before);
	wh_view_free(lab->base);
	free(lab->composed.refusals);
	lab->composed.refusals = NULL;
	lab->before = lab->base = NULL;
}

void wishes_lab_end(struct lab *lab)
{
	lab_forget(lab);
	wh_view_free(lab->view);
	for (uint32_t id = 0; id < LAB_NODES; id++)
		free(lab->sets[id]);
}

void lab_all_follow(const struct lab *lab)
{
	struct wh_view *read = lab_copy(lab->view);
	static const struct wh_wish_set none = {.number = 0};

	for (uint32_t rank = 0; rank < read->members; rank++) {
		uint32_t id = read->ids[rank];
		const struct wh_wish_set *mine = lab->sets[id] != NULL ? lab->sets[id] : &none;
		const char *why = "";
		enum wh_succession is =
			rank < read->members - read->joined_count
				? wh_wishes_succeed(read, lab->base, lab->before, rank, mine, lab->refused[id], &why)
				: wh_wishes_place(read, rank, mine, lab->refused[id], &why);

		ck_assert_msg(is == WH_SUCCEEDS, "node %u: %s", id, why);
	}
	wh_view_free(read);
}

void wishes_lab_step(struct lab *lab, const struct wh_next *next)
{
	const struct wh_wish_set *sets[LAB_NODES] = {NULL};

	lab_forget(lab);
	lab->before = lab->view;
	ck_assert_int_eq(wh_view_next(&lab->base, lab->before, next, &lab_layout, NULL), WHORL_OK);
	lab->view = lab_copy(lab->base);
	for (uint32_t rank = 0; rank < lab->view->members; rank++)
		sets[rank] = lab->sets[lab->view->ids[rank]];
	ck_assert_int_eq(wh_wishes_compose(&lab->composed, lab->view, lab->before, sets, &lab_layout), WHORL_OK);
	for (uint32_t i = 0; i < lab->composed.refusal_count; i++) {
		const struct wh_refusal *it = &lab->composed.refusals[i];

		lab->refused[lab->view->ids[it->rank]][it->wish] = true;
	}
	lab_all_follow(lab);
}

void lab_without_wishes(struct lab *lab, const struct wh_next *next)
{
	lab_forget(lab);
	lab->before = lab->view;
	ck_assert_int_eq(wh_view_next(&lab->view, lab->before, next, &lab_layout, NULL), WHORL_OK);
	wh_view_free(lab_copy(lab->view));
}

void lab_plain(struct lab *lab)
{
	wishes_lab_step(lab, &(struct wh_next){.removed = NULL});
}
