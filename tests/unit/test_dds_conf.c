/* test_dds_conf.c - what a file says of topics: channels, which topic lies on which, and what is wrong in it.
 * Labels: threads
 */
#include "dds/node.h"
#include "tests/support/dds_world.h"

/* The subgroup that a reader or writer is on. */
static char *channel_of(whorl_dds_entity endpoint)
{
	static char name[64];
	struct wh_dds_base *base;

	ck_assert_int_eq(WH_DDS_HOLD(endpoint, WH_DDS_KIND(WH_DDS_READER), &base), OK);
	snprintf(name, sizeof(name), "%s", ((struct wh_dds_endpoint_entity *)base)->line->name);
	wh_dds_let_go(base);
	return name;
}

static void hears_itself(whorl_dds_entity participant, const char *name, const char *channel)
{
	struct place place = {participant, new_topic(participant, name, "")};
	whorl_dds_entity reader = new_reader(&place, "reliability=reliable"), writer = new_writer(&place, "");
	struct whorl_dds_sample_info info;

	ck_assert_str_eq(channel_of(reader), channel);
	well(whorl_dds_write(writer, &(struct pose){.id = 3}));
	ck_assert_int_eq(take_one(reader, &info).id, 3);
}

START_TEST(topics_lie_where_the_file_says)
{
	whorl_dds_entity participant;
	struct wh_dds_base *base;

	/* with a loop that the program is to run, which it does not */
	write_group("[engine]\nthread = caller\n[channel orders]\nwindow = 10\nmessage_bytes = 512\nlarge_bytes = 5k\n"
		    "[topic orders.*]\nchannel = orders\n[topic rt/*]\nchannel = own\n[topic *e?]\nchannel = own\n"
		    "[topic poses]\nchannel = orders\n[channel dds.s.atomic]\nwindow = 9\n");
	participant = made(whorl_dds_create_participant(0, NULL, NULL));
	hears_itself(participant, "orders.new", "orders");
	hears_itself(participant, "orders.", "orders");
	hears_itself(participant, "others", "dds.s.atomic");
	hears_itself(participant, "poses", "own.s.poses"); /* an earlier section fits */
	hears_itself(participant, "rt/a", "own.s.rt_a.74ade7889a1c0cf4");
	ck_assert_int_eq(WH_DDS_HOLD(participant, WH_DDS_KIND(WH_DDS_PARTICIPANT), &base), OK);
	for (struct wh_dds_line *line = base->node->lines; line != NULL; line = line->next) {
		struct whorl_subgroup_info info = {.size = sizeof(info)};

		if (line == base->node->loose) /* it is on the control channel */
			continue;
		ck_assert_int_eq(whorl_subgroup_describe(wh_dds_subgroup_of(line), &info), WHORL_OK);
		ck_assert_uint_eq(info.window, strcmp(line->name, "orders") == 0         ? 10
					       : strcmp(line->name, "dds.s.atomic") == 0 ? 9
											 : 2048);
	}
	wh_dds_let_go(base);
	well(whorl_dds_delete(participant));
	remove_file();
}
END_TEST

START_TEST(a_name_that_no_channel_can_have)
{
	char name[256], other[256];
	whorl_dds_entity participant;
	struct place place;

	write_group(
		"[topic *]\nchannel = own\n[subgroup own]\nmembers = wish\n[subgroup dds.q.atomic]\nmembers = wish\n"
		"[subgroup x.unordered]\nmembers = wish\n"); /* these three are none either */
	memset(name, 'x', 255);
	name[255] = '\0';
	memcpy(other, name, sizeof(other));
	other[254] = 'y';
	participant = made(whorl_dds_create_participant(0, NULL, NULL));
	place = (struct place){participant, new_topic(participant, name, "")};
	memcpy(name, channel_of(new_reader(&place, "")), 64);
	ck_assert_uint_eq(strlen(name), 63);
	place.topic = new_topic(participant, other, "");
	ck_assert_str_ne(channel_of(new_reader(&place, "")), name);
	well(whorl_dds_delete(participant));
	remove_file();
}
END_TEST

START_TEST(a_sample_that_its_channel_does_not_take)
{
	whorl_dds_entity participant;

	write_group("[channel small]\nmessage_bytes = 256\nlarge_bytes = 4k\n[topic *]\nchannel = small\n");
	participant = made(whorl_dds_create_participant(0, NULL, NULL));
	ck_assert_int_eq(whorl_dds_create_topic(participant, whorl_dds_bytes_type(), "blobs", NULL, NULL),
			 WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_msg(strstr(whorl_dds_text(), "topic blobs: a sample takes up to") != NULL &&
			      strstr(whorl_dds_text(), "channel small has large_bytes = 4096") != NULL,
		      "%s", whorl_dds_text());
	well(whorl_dds_delete(participant));
	remove_file();
}
END_TEST

static void lies_on(const struct wh_dds_settings *settings, const char *topic, const char *policies,
		    const char *channel)
{
	struct wh_dds_policies of;
	char name[WH_DDS_CHANNEL_NAME_BYTES + 1] = "";
	struct wh_dds_shape shape;
	whorl_dds_return result;

	wh_dds_policies_init(&of, WH_DDS_TOPIC);
	ck_assert_int_eq(wh_dds_policies_parse(&of, policies, NULL), OK);
	result = wh_dds_channel_of(__func__, settings, topic, &pose_type, wh_dds_consistency(&of), name);
	if (channel[0] == '\0') {
		ck_assert_int_eq(result, WHORL_DDS_RETCODE_BAD_PARAMETER);
		return;
	}
	ck_assert_int_eq(result, OK);
	ck_assert_str_eq(name, channel);
	ck_assert(wh_dds_shape_of(settings, name, &shape));
	ck_assert(shape.durable == (wh_dds_consistency(&of) == WHORL_DDS_CONSISTENCY_LOGGED));
	ck_assert(shape.unordered == (wh_dds_consistency(&of) == WHORL_DDS_CONSISTENCY_UNORDERED));
	ck_assert_uint_eq(shape.window, strncmp(channel, "orders", 6) == 0 ? 10 : 2048);
}

/* Bytes of any number: as large as they may be, or, if that is more than a slot, with a slot for small ones, and a window of these. */
START_TEST(bytes_lie_by_the_most_of_them)
{
	static const struct {
		uint32_t most;
		const char *channel;
		uint32_t message_bytes, window;
	} of[] = {{100, "dds.s.atomic", 256, 2048},     {2000, "dds.m.atomic", 2048, 256},
		  {16000, "dds.l.atomic", 16384, 64},   {500000, "dds.b.atomic", 1088, 2048},
		  {524000, "dds.b.atomic", 1088, 2048}, {8000000, "dds.x.atomic", 524288, 16}};
	struct wh_dds_settings settings = {.channel_count = 0};
	struct whorl_dds_type type = *whorl_dds_bytes_type();
	char name[WH_DDS_CHANNEL_NAME_BYTES + 1] = "";
	struct wh_dds_shape shape;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		type.bytes_max = of[i].most;
		ck_assert_int_eq(wh_dds_channel_of(__func__, &settings, "a", &type, WHORL_DDS_CONSISTENCY_ATOMIC, name),
				 OK);
		ck_assert_str_eq(name, of[i].channel);
		ck_assert(wh_dds_shape_of(&settings, name, &shape));
		ck_assert_uint_eq(shape.message_bytes, of[i].message_bytes);
		ck_assert_uint_eq(shape.window, of[i].window);
		ck_assert_uint_ge(shape.large_bytes, of[i].most);
		ck_assert_uint_le(shape.large_bytes, (uint64_t)shape.message_bytes * shape.window);
	}
}
END_TEST

/* None lies on the same as another that is not. */
START_TEST(logged_topics_have_channels_of_their_own)
{
	struct wh_dds_settings settings;
	char *mistakes;

	write_group(
		"[channel orders]\nwindow = 10\nmessage_bytes = 512\nlarge_bytes = 5k\n[topic orders]\nchannel = orders\n"
		"[channel orders.logged]\nwindow = 10\n[topic kept]\nchannel = orders.logged\n"
		"[topic own]\nchannel = own\n[topic shared]\nchannel = dds.s.logged\n[topic atomic]\nchannel = dds.s.atomic\n");
	ck_assert_int_eq(wh_dds_settings_load(&settings, domain_file, &wh_dds_channel_names, &mistakes), WHORL_OK);
	lies_on(&settings, "a", "durability=persistent", "dds.s.logged");
	lies_on(&settings, "a", "durability=transient", "dds.s.stored");
	lies_on(&settings, "orders", "durability=persistent", "orders.logged");
	lies_on(&settings, "orders", "durability=transient", "orders");
	lies_on(&settings, "orders", "consistency=unordered", "orders.unordered");
	lies_on(&settings, "kept", "consistency=logged", "orders.logged");
	lies_on(&settings, "kept", "consistency=stored", "");
	lies_on(&settings, "kept", "consistency=unordered", "");
	lies_on(&settings, "own", "consistency=logged", "own.ds.own");
	lies_on(&settings, "own", "consistency=atomic", "own.s.own");
	lies_on(&settings, "shared", "durability=persistent", "dds.s.logged");
	lies_on(&settings, "shared", "durability=transient", "");
	lies_on(&settings, "atomic", "durability=persistent", "");
	wh_dds_settings_free(&settings);
	remove_file();
}
END_TEST

/* A file without a group has that of the domain; what it says of a directory holds there alone. */
START_TEST(a_file_without_a_group_has_the_domains)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	static char path[512];
	whorl_dds_entity participant;
	FILE *file;

	write_group("");
	file = fopen(domain_file, "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "[dds]\nreader_patience_ms = 77\n[topic own]\nchannel = own\n");
	ck_assert_int_eq(fclose(file), 0);
	participant = made(whorl_dds_create_participant((uint32_t)getpid() % 60000, NULL, NULL));
	hears_itself(participant, "own", "own.s.own");
	hears_itself(participant, "others", "dds.s.atomic");
	well(whorl_dds_qos_parse(qos, "durability=persistent"));
	ck_assert_int_eq(whorl_dds_create_topic(participant, &pose_type, "logged", qos, NULL),
			 WHORL_DDS_RETCODE_UNSUPPORTED);
	snprintf(path, sizeof(path), "dds.directory of %s says it", domain_file);
	ck_assert_msg(strstr(whorl_dds_text(), path) != NULL, "%s", whorl_dds_text());
	whorl_dds_delete_qos(qos);
	well(whorl_dds_delete(participant));
	remove_file();
}
END_TEST

/* Each has its line in what is said, and none is missed. */
START_TEST(mistakes_are_told)
{
	static const struct {
		const char *text, *expected;
	} all[] = {
		{"[dds]\nslow_reader = perhaps\n", ":6: dds.slow_reader: is \"perhaps\", expected one of lose, leave"},
		{"[dds]\nreader_patience_ms = -1\n", ":6: dds.reader_patience_ms: is "},
		{"[dds]\nreader_patience = 1\n", ":6: dds.reader_patience: unknown key, did you mean "
						 "reader_patience_ms?"},
		{"[channel x]\nwindow = 0\n", ":6: channel x.window: is \"0\", expected a number from 1 to 32768"},
		{"[channel own]\nwindow = 3\n", ":5: channel own: the name has a meaning of its own"},
		{"[channel x]\nwindow = 2\nmessage_bytes = 256\n", ":5: channel x.large_bytes: is 32768, expected at "
								   "most window times message_bytes, 512"},
		{"[channel x]\nmessage_bytes = 1001\n", ":6: channel x.message_bytes: is 1001, expected a multiple"},
		{"[topic a*]\nchannel = orders\n", ":6: topic a*.channel: is \"orders\", expected shared, own, or"},
		{"[topic]\nchannel = own\n", ":5: topic: needs a name, expected [topic PATTERN]"},
		{"[topic a]\nchannel = own\n[topic a]\n", ":7: topic a: is given twice"},
		{"[channel a*]\n", ":5: \"[channel a*]\" is not understood"},
		{"[dds]\ndirectory = /logs\n",
		 ":6: dds.directory: is \"/logs\", expected none: the file has a group, and "
		 "group.log_dir says where logs lie"},
		/* no key of a subgroup is for a channel: of any name that one may have */
		{"[subgroup dds.s.atomic]\nmembers = wish\nsending_threads = one\n",
		 ":5: subgroup dds.s.atomic: a channel of topics is called so, expected another name"},
		{"[subgroup dds.control]\n", ":5: subgroup dds.control: a channel of topics is called so"},
		{"[subgroup own.us.x]\nmembers = wish\n", ":5: subgroup own.us.x: a channel"},
		{"[subgroup x]\nmembers = wish\n[channel x]\n", ":5: subgroup x: a channel"},
		{"[subgroup y]\n[channel x]\n[subgroup x.logged]\n", ":7: subgroup x.logged: a channel"},
		{"[channel x]\n[subgroup x.unordered]\n", ":6: subgroup x.unordered: a channel"},
		{"[group x]\n", ":5: group x: takes no name"},
		{"[topics x]\n", ":5: topics x: unknown section, did you mean topic?"},
		{"[group]\nnodes = many\n[dds]\nslow_reader = no\n", ":8: dds.slow_reader: is \"no\""}, /* both */
	};

	int missing = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char expected[512];

		write_group(all[i].text);
		ck_assert_int_eq(whorl_dds_create_participant(0, NULL, NULL), WHORL_DDS_RETCODE_BAD_PARAMETER);
		snprintf(expected, sizeof(expected), "%s%s", domain_file, all[i].expected);
		if (strstr(whorl_dds_text(), expected) == NULL) {
			fprintf(stderr, "%s\nhas no %s\n", whorl_dds_text(), expected);
			missing++;
		}
		remove_file();
	}
	ck_assert_int_eq(missing, 0);
	ck_assert_int_eq(whorl_dds_create_participant(0, NULL, NULL), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_msg(strstr(whorl_dds_text(), domain_file) != NULL &&
			      strstr(whorl_dds_text(), "cannot be read") != NULL,
		      "%s", whorl_dds_text());
}
END_TEST

int main(void)
{
	const struct named_test tests[] = {
		{"topics", topics_lie_where_the_file_says},
		{"names", a_name_that_no_channel_can_have},
		{"bytes", bytes_lie_by_the_most_of_them},
		{"logged", logged_topics_have_channels_of_their_own},
		{"domain", a_file_without_a_group_has_the_domains},
		{"large", a_sample_that_its_channel_does_not_take},
		{"mistakes", mistakes_are_told},
	};

	return run_processes("dds_conf", tests, sizeof(tests) / sizeof(tests[0]));
}
