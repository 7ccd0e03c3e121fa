/* remote_account.c - see remote_account.h. */
#include "transport/remote_account.h"

#include <string.h>

/* ---- grants ------------------------------------------------------------------------------------------------------- */

static bool is_size(uint64_t bytes)
{
	return bytes > 0 && bytes <= WH_REMOTE_REGION_MAX && bytes % sizeof(wh_word) == 0;
}

static bool is_usable(const struct wh_remote_grant *grant)
{
	return grant->state == WH_GRANT_NEW || grant->state == WH_GRANT_USED;
}

struct wh_remote_grant *wh_remote_grant_add(struct wh_remote_account *account, uint64_t name, uint64_t bytes,
					    uint64_t incarnation)
{
	struct wh_remote_grant *place = NULL;
	uint32_t usable = 0;

	for (uint32_t i = 0; i < WH_REMOTE_GRANTS; i++) {
		usable += is_usable(&account->grants[i]);
		if (account->grants[i].state == WH_GRANT_NONE)
			place = place == NULL ? &account->grants[i] : place;
		else if (account->grants[i].name == name)
			return NULL;
	}
	if (place == NULL || usable == WH_REMOTE_REGIONS || !is_size(bytes))
		return NULL;
	*place = (struct wh_remote_grant){WH_GRANT_NEW, name, bytes, incarnation};
	account->news++;
	return place;
}

struct wh_remote_grant *wh_remote_grant_find(struct wh_remote_account *account, uint64_t name)
{
	for (uint32_t i = 0; i < WH_REMOTE_GRANTS; i++)
		if (is_usable(&account->grants[i]) && account->grants[i].name == name)
			return &account->grants[i];
	return NULL;
}

/* Nothing is said of a grant that no node has heard of. */
void wh_remote_grant_withdraw(struct wh_remote_account *account, struct wh_remote_grant *grant)
{
	if (grant->state == WH_GRANT_NEW) {
		grant->state = WH_GRANT_NONE;
		account->news--;
	} else if (grant->state == WH_GRANT_USED) {
		grant->state = WH_GRANT_WITHDRAWN;
		account->news++;
	}
}

void wh_remote_account_end(struct wh_remote_account *account)
{
	memset(account->grants, 0, sizeof(account->grants));
	account->news = 0;
	while (account->completed < account->posted)
		wh_remote_complete(account, WHORL_MEMBER_GONE, 0);
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

bool wh_remote_is_sound(const struct wh_remote_op *op, uint64_t region_bytes)
{
	uint64_t bytes = op->bytes;

	switch (op->kind) {
	case WH_REMOTE_READ:
	case WH_REMOTE_WRITE:
		if (bytes == 0)
			return false;
		break;
	case WH_REMOTE_WRITE_IMMEDIATE:
		break;
	case WH_REMOTE_FETCH_ADD:
	case WH_REMOTE_COMPARE_SWAP:
		bytes = sizeof(wh_word); /* whatever it says */
		break;
	default:
		return false;
	}
	return bytes % sizeof(wh_word) == 0 && op->offset % sizeof(wh_word) == 0 && bytes <= WH_REMOTE_BYTES_MAX &&
	       bytes <= region_bytes && op->offset <= region_bytes - bytes;
}

enum whorl_result wh_remote_judge(struct wh_remote_account *account, const struct wh_remote_op *op,
				  struct wh_remote_grant **grant)
{
	*grant = wh_remote_grant_find(account, op->region);
	if (*grant == NULL)
		return WHORL_NOT_FOUND;
	if (!wh_remote_is_sound(op, (*grant)->bytes))
		return WHORL_INVALID;
	return account->posted - account->taken < WH_REMOTE_OUTSTANDING ? WHORL_OK : WHORL_AGAIN;
}

void wh_remote_posted(struct wh_remote_account *account, const struct wh_remote_op *op, uint64_t incarnation)
{
	account->list[account->posted++ % WH_REMOTE_OUTSTANDING] =
		(struct wh_remote_posted){.op = *op, .incarnation = incarnation};
}

const struct wh_remote_posted *wh_remote_oldest(const struct wh_remote_account *account)
{
	return account->completed < account->posted ? &account->list[account->completed % WH_REMOTE_OUTSTANDING] : NULL;
}

void wh_remote_complete(struct wh_remote_account *account, enum whorl_result result, uint64_t value)
{
	struct wh_remote_posted *posted = &account->list[account->completed++ % WH_REMOTE_OUTSTANDING];

	posted->result = result;
	posted->value = result == WHORL_OK ? value : 0;
}

/* ---- events ------------------------------------------------------------------------------------------------------- */

static bool next_grant(struct wh_remote_account *account, enum wh_remote_grant_state state, struct wh_remote_event *out)
{
	for (uint32_t i = 0; i < WH_REMOTE_GRANTS && account->news > 0; i++) {
		struct wh_remote_grant *grant = &account->grants[i];

		if (grant->state != state)
			continue;
		*out = (struct wh_remote_event){
			.kind = state == WH_GRANT_NEW ? WH_REMOTE_GRANTED : WH_REMOTE_WITHDRAWN,
			.node = account->node,
			.incarnation = grant->incarnation,
			.region = grant->name,
			.bytes = grant->bytes,
		};
		grant->state = state == WH_GRANT_NEW ? WH_GRANT_USED : WH_GRANT_NONE;
		account->news--;
		return true;
	}
	return false;
}

bool wh_remote_account_next(struct wh_remote_account *account, struct wh_remote_event *out)
{
	const struct wh_remote_posted *posted = &account->list[account->taken % WH_REMOTE_OUTSTANDING];

	if (account->taken == account->completed) /* WH_REMOTE_GRANTS leans on this order */
		return next_grant(account, WH_GRANT_WITHDRAWN, out) || next_grant(account, WH_GRANT_NEW, out);
	account->taken++;
	*out = (struct wh_remote_event){
		.kind = WH_REMOTE_DONE,
		.node = account->node,
		.incarnation = posted->incarnation,
		.result = posted->result,
		.cookie = posted->op.cookie,
		.value = posted->value,
	};
	return true;
}

/* ---- on memory ---------------------------------------------------------------------------------------------------- *
 * What R1 and R2 ask, for all at once: each store releases and each load acquires, so a thread that acquires a word
 * sees what its writer had done before it. Partners: the same here, at other nodes, and the owner's own loads. And whatever
 * reads waits until what was written before is seen: of two that each write one word and then read the other's, one sees it. */

static void store_words(wh_word *words, const unsigned char *from, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		uint64_t value;

		memcpy(&value, from + at, sizeof(value));
		wh_store_release(&words[at / sizeof(value)], value);
	}
}

static void load_words(const wh_word *words, unsigned char *into, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		uint64_t value = wh_load_acquire(&words[at / sizeof(value)]);

		memcpy(into + at, &value, sizeof(value));
	}
}

static uint64_t compare_swap(wh_word *word, uint64_t expected, uint64_t desired)
{
	uint64_t found = expected;

	while (!wh_compare_swap(word, &found, desired) && found == expected) /* it may fail for nothing */
		;
	return found;
}

uint64_t wh_remote_carry_out(wh_word *words, const struct wh_remote_op *op)
{
	wh_word *at = words + op->offset / sizeof(wh_word);

	if (op->kind != WH_REMOTE_WRITE && op->kind != WH_REMOTE_WRITE_IMMEDIATE)
		wh_fence_full(); /* partner: the same at another initiator */
	switch (op->kind) {
	case WH_REMOTE_READ:
		load_words(at, op->into, op->bytes);
		return 0;
	case WH_REMOTE_WRITE:
	case WH_REMOTE_WRITE_IMMEDIATE:
		store_words(at, op->from, op->bytes);
		return 0;
	case WH_REMOTE_FETCH_ADD:
		return wh_fetch_add(at, op->add);
	case WH_REMOTE_COMPARE_SWAP:
		return compare_swap(at, op->expected, op->desired);
	}
	return 0;
}
