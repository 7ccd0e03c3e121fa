/* size.c - see size.h. */
#include "base/size.h"

#include <stdio.h>

static const char *scaled_text(double value, const char *const *units, size_t count, char *buf, size_t room)
{
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < count) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, room, "%.*f%s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
	return buf;
}

const char *wh_size_text(uint64_t bytes, char *buf, size_t room)
{
	static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB", " EB"};

	return scaled_text((double)bytes, units, sizeof(units) / sizeof(units[0]), buf, room);
}

const char *wh_figure_text(double value, char *buf, size_t room)
{
	static const char *const units[] = {"", " k", " M", " G", " T"};

	return scaled_text(value, units, sizeof(units) / sizeof(units[0]), buf, room);
}
