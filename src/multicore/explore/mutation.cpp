#include "multicore/explore/mutation.h"

#include <string>

namespace lockswap::explore {

const char* name_of(Op op) {
  switch (op) {
    case Op::load:
      return "load";
    case Op::store:
      return "store";
    case Op::exchange:
      return "exchange";
    case Op::compare_exchange:
      return "compare_exchange";
    case Op::fetch_add:
      return "fetch_add";
    case Op::fetch_sub:
      return "fetch_sub";
    case Op::fetch_or:
      return "fetch_or";
    case Op::fetch_and:
      return "fetch_and";
    case Op::await:
      return "await";
    case Op::scan_enter:
      return "scan, first fence";
    case Op::scan_leave:
      return "scan, last fence";
    case Op::fence:
      return "fence";
    case Op::wake:
      return "wake";
  }
  return "?";
}

const char* name_of(Order order) {
  switch (order) {
    case relaxed:
      return "relaxed";
    case acquire:
      return "acquire";
    case release:
      return "release";
    case acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}

bool is_file(const char* path, const char* name) {
  const std::size_t n = std::strlen(path), m = std::strlen(name);
  return n >= m && std::strcmp(path + n - m, name) == 0 && (n == m || path[n - m - 1] == '/');
}

bool Mutation::at(Op o, Order order_there, const Site& s) const {
  if (o != op || order_there != declared) return false;
  if (line != 0 && (s.line() != line || s.column() != column)) return false;
  if (!is_file(s.file_name(), file)) return false;
  if (line != 0) return true;
  // function_name() is "static bool lockswap::Bravo<...>::publish(Frame&, ...) [with ...]".
  const std::string wanted = std::string("::") + function + "(";
  return std::strstr(s.function_name(), wanted.c_str()) != nullptr;
}

}  // namespace lockswap::explore
