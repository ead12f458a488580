static_assert(false, "the runner is not told what to expect");
