/* sample_lab.h - samples of any type of ddsc/type, at random, and whether two are the same. */
#ifndef WH_TESTS_SAMPLE_LAB_H
#define WH_TESTS_SAMPLE_LAB_H

#include "ddsc/type/type_int.h"

struct sample_lab {
	struct wh_ddsc_type *type;
	const struct wh_ddsc_shape *shape;
	struct wh_ddsc_tree tree;
	uint64_t dice;
};

/* Of a descriptor that is good; the tree is NULL otherwise, and err says why. */
bool sample_lab_init(struct sample_lab *lab, const struct wh_ddsc_descriptor *descriptor, uint64_t seed,
		     struct wh_error *err);
void sample_lab_free(struct sample_lab *lab);
uint32_t sample_lab_draw(struct sample_lab *lab, uint32_t below);
/* A sample; its padding is of any bytes. To be freed by sample_lab_drop. */
void *sample_lab_new(struct sample_lab *lab);
void *sample_lab_zero(struct sample_lab *lab);
void sample_lab_drop(struct sample_lab *lab, void *sample);
bool sample_lab_same(const struct sample_lab *lab, const void *a, const void *b);

#endif
