/* types.h - the types of cdr.idl, by name. Behind an include of what idlc has made of it. */
#ifndef WH_TESTS_CDR_TYPES_H
#define WH_TESTS_CDR_TYPES_H

/* clang-format off */
#define CDR_TYPES(X)                                                                                                   \
	X(point)                                                                                                       \
	X(pair)                                                                                                        \
	X(named) X(numbers) X(keyed_seq) X(texts) X(enums) X(arrays) X(sequences) X(typedefs) X(nested) X(base)        \
		X(derived) X(ap) X(ap_plain) X(ap_base) X(ap_derived) X(appendables) X(holds) X(key_in) X(key_ap)      \
			X(keys) X(keys_ap) X(keys_id)

/* X(name, what is said of it) for those that are not supported. */
#define CDR_REFUSED(X)                                                                                                 \
	X(either, "type cdr::either is a union")                                                                       \
	X(has_union, "the member e is a union")                                                                        \
	X(has_unions, "the member list has unions")                                                                    \
	X(changing, "is @mutable")                                                                                     \
	X(has_changing, "the member c has a struct that is @mutable")                                                  \
	X(has_optional, "the member o is @optional")                                                                   \
	X(has_optional_string, "the member s is @optional")                                                            \
	X(has_external, "the member e is @external")                                                                   \
	X(has_external_struct, "the member p is @external")                                                            \
	X(has_deep, "the member inner.e is a union")                                                                   \
	X(has_inherited, "the member inner.e is a union")                                                              \
	X(has_base, "the member another.inner.e is a union")
/* clang-format on */

#endif
