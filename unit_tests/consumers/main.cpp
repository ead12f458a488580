// What the consumers build: the umbrella header, and a computation on each device of this build.
#include <cstdio>

#include <strata/strata.hpp>
#include <strata/version.hpp>

int main() { std::printf("strata %s\n", STRATA_VERSION_STRING); }
