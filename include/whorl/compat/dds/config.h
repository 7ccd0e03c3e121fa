/* config.h - nothing: what a build of Cyclone DDS says of its machine. Programs include it by the way. */
#ifndef WHORL_COMPAT_CONFIG_H
#define WHORL_COMPAT_CONFIG_H

#endif
