#include "interpose/bypasses.h"

#include <cstring>

#include "interpose/objects.h"
#include "platform/text.h"

namespace lockswap {
namespace {

bool starts_with(const char* name, const char* prefix) noexcept {
  return std::strncmp(name, prefix, std::strlen(prefix)) == 0;
}

// Returns the name without the underscores of its old form, or nullptr if it names no such
// function.
const char* lock_function(const char* name, Swapped swapped) noexcept {
  if (name[0] == '_' && name[1] == '_') name += 2;
  const bool is_one = starts_with(name, "pthread_rwlock_") ||
                      (swapped.mutexes && starts_with(name, "pthread_mutex_")) ||
                      (swapped.conds && starts_with(name, "pthread_cond_"));
  return is_one ? name : nullptr;
}

// Whether any reference of one object is bound to a definition in `behind` or later.
struct Question {
  const link_map* own;
  const link_map* behind;
  Swapped swapped;
  bool yes;
};

// `context` is a Question.
void ask(void* context, const char* name, void* target) noexcept {
  auto& q = *static_cast<Question*>(context);
  const char* function = lock_function(name, q.swapped);
  if (q.yes || function == nullptr) return;
  const void* ours = find_symbol(*q.own, function, nullptr);
  if (ours == nullptr || ours == target) return;  // nullptr: left to glibc
  for (const link_map* m = q.behind; m != nullptr && !q.yes; m = m->l_next)
    q.yes = target != nullptr && find_symbol(*m, function, nullptr) == target && !is_copy(*m);
}

struct Search {
  Bypasses& found;
  Swapped swapped;
};

void look_at(const link_map* objects, const link_map* own, const link_map* behind, const char* how,
             const Search& search) noexcept {
  Bypasses& found = search.found;
  for (const link_map* m = objects; m != nullptr; m = m->l_next) {
    Question question{own, behind, search.swapped, false};
    visit_references(*m, &ask, &question);
    if (!question.yes || is_copy(*m)) continue;
    if (found.count < Bypasses::kMost) {
      Bypass& b = found.first[found.count];
      Text(b.object, sizeof b.object) << (m->l_name[0] != 0 ? m->l_name : "the program itself");
      b.how = how;
    }
    ++found.count;
  }
}

}  // namespace

void find_bypasses(Bypasses& found, Swapped swapped) noexcept {
  const auto look = [](void* p) {
    const link_map* own = own_object();
    if (own == nullptr) return;
    look_at(first_object(), own, own->l_next, "RTLD_DEEPBIND", *static_cast<Search*>(p));
    const auto look_in_namespace = [](void* search, const link_map* first) {
      look_at(first, own_object(), first, "dlmopen", *static_cast<Search*>(search));
    };
    visit_other_namespaces(look_in_namespace, p);
  };
  Search search{found, swapped};
  with_stable_list(look, &search);
}

}  // namespace lockswap
