// cyclone.cc - the same as C++.
#include "cyclone.c"
