// stranger.cc - the header in a C++ program.
#include <cstdio>

#include <whorl/whorl.h>

int main()
{
	whorl_config *config = whorl_config_new();
	bool found = config != nullptr;

	whorl_config_free(config);
	return found && std::puts(whorl_version()) >= 0 ? 0 : 1;
}
