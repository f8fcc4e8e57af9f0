// Libraries that are loaded and unloaded, and functions that are reached otherwise than by symbols.
//
//   loader                               nothing: for what its own libraries do (first_call.cpp)
//   loader open|deepbind|dlmopen LIB...  loads copies of user.c in that way and uses their locks
//   loader same-place LIB OTHER          loads and unloads both in turn; prints how often one came
//                                        to lie where the other had been
//   loader copy|dlmopen-copy COPY        COPY is a second copy of the preloaded library, loaded
//                                        already or to be: both must mean the same locks
//
// Status 0; 1 with a message on stderr if something is wrong.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <thread>

namespace {

using Lock = pthread_rwlock_t;
using Call = int (*)(Lock*);

void insist(bool good, const std::string& what) {
  if (good) return;
  const char* why = dlerror();
  std::fprintf(stderr, "%s%s%s\n", what.c_str(), why == nullptr ? "" : ": ",
               why == nullptr ? "" : why);
  std::exit(1);
}

template <class T>
T find(void* library, const char* name) {
  auto symbol = reinterpret_cast<T>(dlsym(library, name));
  insist(symbol != nullptr, name);
  return symbol;
}

void use(void* library) {
  const int step = find<int (*)()>(library, "user_works")();
  insist(step == 0, "user_works: step " + std::to_string(step));
}

void load(const std::string& how, const char* file) {
  void* library = how == "dlmopen"
                      ? dlmopen(LM_ID_NEWLM, file, RTLD_NOW)
                      : dlopen(file, RTLD_NOW | (how == "deepbind" ? RTLD_DEEPBIND : 0));
  insist(library != nullptr, file);
  use(library);
}

void same_place(const char* const (&files)[2]) {
  int met = 0;
  const void* before = nullptr;
  for (int round = 0; round < 60; ++round) {
    void* library = dlopen(files[round % 2], RTLD_NOW);
    insist(library != nullptr, files[round % 2]);
    auto* lock = find<Lock*>(library, "user_lock");
    met += lock == before;
    before = lock;
    // What the other library's lock left in tables and records is no hold of this one.
    use(library);
    std::thread([&] { use(library); }).join();
    const auto leave_held = find<int (*)(int)>(library, "user_leaves_held");
    if (round % 3 == 1) insist(leave_held(round * 20) == 0, "rdlock");
    if (round % 3 == 2) {
      std::thread([&] { insist(leave_held(round * 20) == 0, "rdlock"); }).join();
    }
    dlclose(library);
    insist(dlopen(files[round % 2], RTLD_NOW | RTLD_NOLOAD) == nullptr, "it was not unloaded");
  }
  std::printf("%d\n", met);
}

void copy(const std::string& how, const char* file) {
  void* library = how == "copy" ? dlopen(file, RTLD_NOW) : dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
  insist(library != nullptr, file);
  const auto their_read = find<Call>(library, "pthread_rwlock_rdlock");
  const auto their_write = find<Call>(library, "pthread_rwlock_wrlock");
  const auto their_try_read = find<Call>(library, "pthread_rwlock_tryrdlock");
  const auto their_try_write = find<Call>(library, "pthread_rwlock_trywrlock");
  const auto their_unlock = find<Call>(library, "pthread_rwlock_unlock");
  insist(their_read != &pthread_rwlock_rdlock, "the copy's functions are the library's own");

  Lock lock = PTHREAD_RWLOCK_INITIALIZER;
  const auto other_thread = [&](int expected, Call call, const char* what) {
    int got = 0;
    std::thread([&] { got = call(&lock); }).join();
    insist(got == expected, std::string(what) + " beside a hold returned " + std::to_string(got));
  };
  for (int round = 0; round < 300; ++round) {  // with and without a reader bias
    insist(their_read(&lock) == 0, "their rdlock");
    insist(pthread_rwlock_trywrlock(&lock) == EBUSY, "our trywrlock does not see their reader");
    if (round % 50 == 0) other_thread(EBUSY, &pthread_rwlock_trywrlock, "our trywrlock");
    insist(pthread_rwlock_unlock(&lock) == 0, "our unlock of their read");
    insist(pthread_rwlock_rdlock(&lock) == 0, "our rdlock");
    insist(their_try_write(&lock) == EBUSY, "their trywrlock does not see our reader");
    if (round % 50 == 0) other_thread(EBUSY, their_try_write, "their trywrlock");
    insist(their_unlock(&lock) == 0, "their unlock of our read");
    if (round % 10 != 0) continue;
    insist(their_write(&lock) == 0, "their wrlock");
    other_thread(EBUSY, &pthread_rwlock_tryrdlock, "our tryrdlock");
    insist(pthread_rwlock_unlock(&lock) == 0, "our unlock of their write");
    insist(pthread_rwlock_wrlock(&lock) == 0, "our wrlock");
    other_thread(EBUSY, their_try_read, "their tryrdlock");
    insist(their_unlock(&lock) == 0, "their unlock of our write");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what.empty()) return 0;
  if (argc >= 3 && (what == "open" || what == "deepbind" || what == "dlmopen")) {
    for (int i = 2; i < argc; ++i)
      load(what, argv[i]);
  } else if (argc == 4 && what == "same-place") {
    same_place({argv[2], argv[3]});
  } else if (argc == 3 && (what == "copy" || what == "dlmopen-copy")) {
    copy(what, argv[2]);
  } else {
    std::fprintf(stderr,
                 "usage: loader [open|deepbind|dlmopen LIB... | same-place LIB LIB | "
                 "copy|dlmopen-copy LIB]\n");
    return 2;
  }
  return 0;
}
