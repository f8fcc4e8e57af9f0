#include "interpose/bypasses.h"

#include <cstring>

#include "interpose/objects.h"
#include "registry/text.h"

namespace lockswap {
namespace {

// The function's name without the underscores of its old twin, which is the same function; nullptr:
// another function.
const char* rwlock_function(const char* name) noexcept {
  if (name[0] == '_' && name[1] == '_') name += 2;
  return std::strncmp(name, "pthread_rwlock_", 15) == 0 ? name : nullptr;
}

// Is a reference of one object bound to a definition in `behind` or further back?
struct Question {
  const link_map* own;
  const link_map* behind;
  bool yes;
};

// `context` is a Question.
void ask(void* context, const char* name, void* target) noexcept {
  auto& q = *static_cast<Question*>(context);
  const char* function = rwlock_function(name);
  if (q.yes || function == nullptr || find_symbol(*q.own, function, nullptr) == target) return;
  for (const link_map* m = q.behind; m != nullptr && !q.yes; m = m->l_next)
    q.yes = target != nullptr && find_symbol(*m, function, nullptr) == target && !is_copy(*m);
}

void look_at(const link_map* objects, const link_map* own, const link_map* behind, const char* how,
             Bypasses& found) noexcept {
  for (const link_map* m = objects; m != nullptr; m = m->l_next) {
    Question question{own, behind, false};
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

void find_bypasses(Bypasses& found) noexcept {
  const auto look = [](void* into) {
    const link_map* own = own_object();
    if (own == nullptr) return;
    look_at(first_object(), own, own->l_next, "RTLD_DEEPBIND", *static_cast<Bypasses*>(into));
    const auto look_in_namespace = [](void* p, const link_map* first) {
      look_at(first, own_object(), first, "dlmopen", *static_cast<Bypasses*>(p));
    };
    visit_other_namespaces(look_in_namespace, into);
  };
  with_stable_list(look, &found);
}

}  // namespace lockswap
