// Its constructor, run by dlopen with the loader's lock held, waits for another thread.
extern "C" void first_call_meanwhile();
[[gnu::constructor]] static void on_load() { first_call_meanwhile(); }
