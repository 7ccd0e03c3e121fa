/* features.h - which parts of Cyclone DDS that can be left out are here: none of them. */
#ifndef WHORL_COMPAT_FEATURES_H
#define WHORL_COMPAT_FEATURES_H

#endif
