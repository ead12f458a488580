// expect: first
static_assert(false, "first");
static_assert(false, "second");
static_assert(false, "third");
