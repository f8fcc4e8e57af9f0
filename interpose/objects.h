// The objects that the loader has loaded, read from the list that it keeps for debuggers.
//
// Why not dlsym: it takes the loader's lock. The first lock call of a process may come while
// another thread sits in a constructor run by dlopen, holds that lock, and waits for this one.
//
// Safe without locks is only what is loaded at start-up: that part of the list never changes. For
// the rest see with_stable_list.
#pragma once

#include <link.h>

namespace lockswap {

// The base namespace, in load order: the program, preloaded libraries, what they need, what dlopen
// brought. Searches of the program go the same way.
link_map* first_object() noexcept;
// This library's place in it; nullptr if it was loaded into another namespace.
link_map* own_object() noexcept;
// The name of its file without the folder.
const char* file_name(const link_map& object) noexcept;
// Is it glibc's own? What stands behind it in the search of symbols replaces nothing of it.
bool is_glibcs(const link_map& object) noexcept;
// Is it a copy of this library?
bool is_copy(const link_map& object) noexcept;

// Where the object defines `name`, at `version` or, without one, at its default version. An object
// without versions matches any. Returns nullptr if it does not.
void* find_symbol(const link_map& object, const char* name, const char* version) noexcept;
// The same in `from` and the objects behind it, copies of this library left out.
void* find_symbol_from(const link_map* from, const char* name, const char* version) noexcept;

// Calls visit(context, name, what it is bound to) for each reference to a function of another
// object.
using Visit = void (*)(void* context, const char* name, void* target);
void visit_references(const link_map& object, Visit visit, void* context) noexcept;

// Calls look(context) while the loader cannot add or remove objects; look may call no dl* function.
void with_stable_list(void (*look)(void*), void* context) noexcept;
// Calls visit(context, first object) for each namespace that dlmopen made, glibc 2.35 or newer.
void visit_other_namespaces(void (*visit)(void*, const link_map*), void* context) noexcept;

}  // namespace lockswap
