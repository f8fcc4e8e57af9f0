#include "multicore/explore/mutation.h"

#include <algorithm>
#include <string>

#include "multicore/explore/machine.h"
#include "multicore/explore/mix.h"

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

void Sites::add(Op op, Order order, const Site& site) {
  const std::uint64_t line = std::uint64_t{site.line()} << 32 | std::uint64_t{site.column()} << 16;
  const std::uint64_t what =
      line | static_cast<std::uint64_t>(op) << 8 | static_cast<unsigned>(order);
  if (!known_.insert(mix(reinterpret_cast<std::uintptr_t>(site.file_name()), what)).second) return;
  // Another translation unit may have the same name at another address.
  const auto is_there = [&](const Mutation& m) { return m.at(op, order, site); };
  if (std::any_of(all_.begin(), all_.end(), is_there)) return;
  all_.push_back({.name = "",
                  .file = file_of(site),
                  .function = site.function_name(),
                  .op = op,
                  .declared = order,
                  .kind = Mutation::weaken,
                  .line = site.line(),
                  .column = site.column()});
}

}  // namespace lockswap::explore
