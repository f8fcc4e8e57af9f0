// The objects that the loader has loaded, from the list that it keeps for debuggers.
//
// Why not dlsym: it takes the loader's lock. The first lock call of a process may come while
//   another thread runs a constructor in dlopen, holds the loader's lock, and waits for this
//   thread.
//
// Without a lock, only the objects loaded at start-up are safe to read, because that part of the
// list never changes. For the rest see with_stable_list.
#pragma once

#include <link.h>

namespace lockswap {

// The base namespace in load order: the program, preloaded libraries, their dependencies, and what
// dlopen loaded. Symbol searches for the program take the same order.
link_map* first_object() noexcept;
// Returns this library's place in it, or nullptr if it was loaded into another namespace.
link_map* own_object() noexcept;
// Returns the name of the object's file without the folder.
const char* file_name(const link_map& object) noexcept;
// Returns whether the object is part of glibc. Objects that come after it in the search order can't
// replace its functions.
bool is_glibcs(const link_map& object) noexcept;
// Returns whether the object is a copy of this library.
bool is_copy(const link_map& object) noexcept;

// Returns the address at which the object defines `name` at `version`, or at its default version if
// version is nullptr. An object without versions matches any. Returns nullptr if there is no such
// definition.
void* find_symbol(const link_map& object, const char* name, const char* version) noexcept;
// The same, searching `from` and the objects after it except copies of this library.
void* find_symbol_from(const link_map* from, const char* name, const char* version) noexcept;

// Calls visit(context, name, target) for each reference of the object to a function of another one,
// where `target` is what it is bound to.
using Visit = void (*)(void* context, const char* name, void* target);
void visit_references(const link_map& object, Visit visit, void* context) noexcept;

// Calls look(context) while the loader cannot add or remove objects. look must not call any dl*
// function.
void with_stable_list(void (*look)(void*), void* context) noexcept;
// Calls visit(context, first object) for each namespace that dlmopen made. Needs glibc 2.35 or
// newer.
void visit_other_namespaces(void (*visit)(void*, const link_map*), void* context) noexcept;

}  // namespace lockswap
