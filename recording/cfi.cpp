// Builds no tables and takes no locks: it searches .eh_frame_hdr, which linkers sort.
#include "recording/cfi.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace lockswap::recording {
namespace {

using Byte = const std::uint8_t*;

// Callers are above, on a stack of some megabytes. A handler may have its own stack.
constexpr std::uint64_t kFar = std::uint64_t{64} << 20;

// Memory that may be read.
struct Extent {
  std::uint64_t begin, end;

  bool has(std::uint64_t address, std::uint64_t bytes) const noexcept {
    return address >= begin && address <= end && end - address >= bytes;
  }
  // Returns false, and sets the value to 0, if the value is outside.
  template <class T>
  bool read(std::uint64_t address, T& value) const noexcept {
    value = {};
    if (!has(address, sizeof value)) return false;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return true;
  }
};

Byte bytes_at(std::uint64_t address) noexcept { return reinterpret_cast<Byte>(address); }

Extent tables_of(const Loaded& module) noexcept { return {module.begin, module.end}; }

// A leaf function may have saved registers below.
Extent stack_of(const Frame& frame) noexcept {
  constexpr std::uint64_t kRedZone = 128;
  const std::uint64_t pointer = frame.reg[kStackRegister];
  if (pointer < kRedZone || pointer > ~kFar) return {0, 0};
  const std::uint64_t end = pointer + kFar;
  if (frame.stack_end == 0) return {pointer - kRedZone, end};
  if (pointer >= frame.stack_end) return {0, 0};
  return {pointer - kRedZone, std::min(end, frame.stack_end)};
}

// Reads the encodings of the format. After an error everything reads as zero.
class Stream {
 public:
  Stream(Byte at, Byte end) noexcept : at_(at), end_(end) {}

  bool more() const noexcept { return at_ < end_; }
  Byte at() const noexcept { return at_; }
  void skip(std::uint64_t n) noexcept {
    at_ = n > static_cast<std::uint64_t>(end_ - at_) ? end_ : at_ + n;
  }

  template <class T>
  T get() noexcept {
    T value{};
    if (static_cast<std::size_t>(end_ - at_) < sizeof value) {
      at_ = end_;
      return value;
    }
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t uleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; more(); shift += 7) {
      const std::uint8_t b = *at_++;
      if (shift < 64) value |= std::uint64_t{b & 0x7fu} << shift;
      if ((b & 0x80) == 0) break;
    }
    return value;
  }
  std::int64_t sleb() noexcept {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t b = 0x80;
    while (more() && (b & 0x80) != 0) {
      b = *at_++;
      if (shift < 64) value |= std::uint64_t{b & 0x7fu} << shift;
      shift += 7;
    }
    if (shift < 64 && (b & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }
  // DW_EH_PE_*: the format is in the lower four bits, and what it is relative to is above.
  std::uint64_t pointer(std::uint8_t encoding, std::uint64_t data_base,
                        const Extent& tables) noexcept {
    const auto here = reinterpret_cast<std::uint64_t>(at_);
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = get<std::uint64_t>();
        break;
      case 0x01:
        value = uleb();
        break;
      case 0x02:
        value = get<std::uint16_t>();
        break;
      case 0x03:
        value = get<std::uint32_t>();
        break;
      case 0x09:
        value = static_cast<std::uint64_t>(sleb());
        break;
      case 0x0a:
        value = static_cast<std::uint64_t>(std::int64_t{get<std::int16_t>()});
        break;
      case 0x0b:
        value = static_cast<std::uint64_t>(std::int64_t{get<std::int32_t>()});
        break;
      default:
        at_ = end_;
        return 0;
    }
    if (value == 0) return 0;
    switch (encoding & 0x70) {
      case 0x10:
        value += here;
        break;
      case 0x30:
        value += data_base;
        break;
      default:
        break;
    }
    if ((encoding & 0x80) == 0) return value;
    std::uint64_t at_it = 0;
    tables.read(value, at_it);
    return at_it;
  }

 private:
  Byte at_, end_;
};

struct Rule {
  enum How : std::uint8_t {
    same,
    undefined,
    at_offset,
    offset,
    in_register,
    at_expression,
    expression
  };
  How how = same;
  std::int64_t value = 0;  // an offset, a register, or the address of the expression
};
struct Row {
  std::uint32_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  std::uint64_t cfa_expression = 0;  // used instead, if not 0
  Rule rule[kRegisters];
  bool signed_return = false;
};

struct Description {
  Extent tables{};
  std::uint64_t begin = 0, end = 0;
  Byte initial = nullptr, initial_end = nullptr;
  Byte own = nullptr, own_end = nullptr;
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint32_t return_column = kReturnColumn;
  std::uint8_t encoding = 0;
  bool of_signals = false;
};

// Reads a length and finds the end that it implies. Returns false if this is neither a CIE nor an
// FDE.
bool open(std::uint64_t at, const Extent& tables, Byte& body, Byte& end) noexcept {
  std::uint32_t length = 0;
  if (!tables.read(at, length) || !tables.has(at + 4, length)) return false;
  if (length == 0 || length >= 0xfffffff0u) return false;  // the end; 64-bit ones nobody writes
  body = bytes_at(at + 4);
  end = body + length;
  return true;
}

bool read_common(std::uint64_t at, Description& d) noexcept {
  Byte body = nullptr, end = nullptr;
  if (!open(at, d.tables, body, end)) return false;
  Stream in(body, end);
  if (in.get<std::uint32_t>() != 0) return false;
  const auto version = in.get<std::uint8_t>();
  const char* augmentation = reinterpret_cast<const char*>(in.at());
  const auto length = strnlen(augmentation, static_cast<std::size_t>(end - in.at()));
  in.skip(length + 1);
  if (!in.more()) return false;
  if (version == 4) in.skip(2);
  d.code_unit = in.uleb();
  d.data_unit = in.sleb();
  d.return_column = static_cast<std::uint32_t>(version == 1 ? in.get<std::uint8_t>() : in.uleb());
  if (augmentation[0] == 'z') {
    const std::uint64_t size = in.uleb();
    Stream data(in.at(), end);
    in.skip(size);
    for (const char* c = augmentation + 1; *c != 0; ++c) {
      if (*c == 'R') {
        d.encoding = data.get<std::uint8_t>();
      } else if (*c == 'P') {
        const auto encoding = data.get<std::uint8_t>();
        data.pointer(encoding & 0x7f, 0, d.tables);
      } else if (*c == 'L') {
        data.skip(1);
      } else if (*c == 'S') {
        d.of_signals = true;
      } else if (*c != 'B' && *c != 'G') {
        break;
      }
    }
  } else if (augmentation[0] != 0) {
    return false;
  }
  d.initial = in.at();
  d.initial_end = end;
  return d.return_column < kRegisters;
}

// Finds the description of the function that contains pc.
bool find(const Loaded& module, std::uint64_t pc, Description& d) noexcept {
  d.tables = tables_of(module);
  const auto base = reinterpret_cast<std::uint64_t>(module.unwinding);
  constexpr std::uint64_t kMostOfHeader = 24;
  struct Header {
    std::uint8_t version, tables, count, table;  // encodings, except for the first
  } header{};
  if (!d.tables.read(base, header) || header.version != 1) return false;
  const std::uint64_t behind = std::min(base + kMostOfHeader, d.tables.end);
  Stream in(bytes_at(base + sizeof header), bytes_at(behind));
  in.pointer(header.tables, base, d.tables);  // .eh_frame
  const std::uint64_t count = in.pointer(header.count, base, d.tables);
  constexpr std::uint8_t kRelativeInts = 0x3b;  // relative to the header, as all linkers write it
  if (header.table != kRelativeInts || count == 0) return false;
  struct Entry {
    std::int32_t pc, description;
  };
  const auto table = reinterpret_cast<std::uint64_t>(in.at());
  if (count > (d.tables.end - table) / sizeof(Entry)) return false;
  Entry entry{};
  std::uint64_t low = 0, high = count;  // the entry is in [low, high)
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (!d.tables.read(table + middle * sizeof(Entry), entry)) return false;
    (base + static_cast<std::uint64_t>(std::int64_t{entry.pc}) <= pc ? low : high) = middle;
  }
  if (!d.tables.read(table + low * sizeof(Entry), entry)) return false;
  const std::uint64_t at = base + static_cast<std::uint64_t>(std::int64_t{entry.description});
  Byte body = nullptr, end = nullptr;
  if (!open(at, d.tables, body, end)) return false;
  Stream fde(body, end);
  const auto back = fde.get<std::uint32_t>();
  if (back == 0 || !read_common(at + 4 - back, d)) return false;
  d.begin = fde.pointer(d.encoding, base, d.tables);
  d.end = d.begin + fde.pointer(d.encoding & 0x0f, base, d.tables);
  if (pc < d.begin || pc >= d.end) return false;
  fde.skip(fde.uleb());  // augmentation data: all present-day CIEs have "z"
  d.own = fde.at();
  d.own_end = end;
  return true;
}

constexpr int kMostRemembered = 4;

// Executes instructions until it has the row for pc.
class Interpreter {
 public:
  Interpreter(const Description& d, std::uint64_t pc) noexcept : d_(d), pc_(pc), at_(d.begin) {}

  bool make(Row& row) noexcept {
    if (!run(d_.initial, d_.initial_end, row)) return false;
    initial_ = row;
    return run(d_.own, d_.own_end, row);
  }

 private:
  bool run(Byte begin, Byte end, Row& row) noexcept {
    Stream in(begin, end);
    while (in.more() && at_ <= pc_) {
      if (!one(in, row)) return false;
    }
    return true;
  }

  static void set(Row& row, std::uint64_t reg, Rule::How how, std::int64_t value) noexcept {
    if (reg < kRegisters) row.rule[reg] = {how, value};
  }
  // Unsigned, because a damaged table may make it overflow.
  std::int64_t unit(std::uint64_t n) const noexcept {
    return static_cast<std::int64_t>(n * static_cast<std::uint64_t>(d_.data_unit));
  }
  std::int64_t signed_unit(Stream& in) const noexcept {
    return unit(static_cast<std::uint64_t>(in.sleb()));
  }
  void advance(std::uint64_t n) noexcept { at_ += n * d_.code_unit; }
  static std::int64_t block(Stream& in) noexcept {
    const auto at = reinterpret_cast<std::int64_t>(in.at());
    const std::uint64_t size = in.uleb();
    in.skip(size);
    return at;
  }

  bool one(Stream& in, Row& row) noexcept {
    const auto code = in.get<std::uint8_t>();
    const std::uint8_t low = code & 0x3f;
    switch (code >> 6) {
      case 1:
        advance(low);
        return true;
      case 2:
        set(row, low, Rule::at_offset, unit(in.uleb()));
        return true;
      case 3:
        if (low < kRegisters) row.rule[low] = initial_.rule[low];
        return true;
      default:
        return extended(low, in, row);
    }
  }

  // Instructions with a full opcode byte. DWARF 5, table 7.29, has their names.
  bool extended(std::uint8_t code, Stream& in, Row& row) noexcept {
    switch (code) {
      case 0x00:  // nop
        return true;
      case 0x0a:  // remember_state
        if (depth_ == kMostRemembered) return false;
        remembered_[depth_++] = row;
        return true;
      case 0x0b:  // restore_state
        if (depth_ == 0) return false;
        row = remembered_[--depth_];
        return true;
      case 0x2d:  // AARCH64_negate_ra_state: the return address is signed from here on, or no more
        row.signed_return = !row.signed_return;
        return true;
      case 0x2e:  // GNU_args_size
        in.uleb();
        return true;
      default:
        return moves(code, in) || defines_cfa(code, in, row) || sets_rule(code, in, row);
    }
  }

  // Each of these three returns false for instructions of another kind.

  // Instructions that say where the following rows begin.
  bool moves(std::uint8_t code, Stream& in) noexcept {
    switch (code) {
      case 0x01:  // set_loc
        at_ = in.pointer(d_.encoding, 0, d_.tables);
        return true;
      case 0x02:  // advance_loc1
        advance(in.get<std::uint8_t>());
        return true;
      case 0x03:  // advance_loc2
        advance(in.get<std::uint16_t>());
        return true;
      case 0x04:  // advance_loc4
        advance(in.get<std::uint32_t>());
        return true;
      default:
        return false;
    }
  }

  // Instructions that say how the frame's own address is computed.
  bool defines_cfa(std::uint8_t code, Stream& in, Row& row) const noexcept {
    switch (code) {
      case 0x0c:  // def_cfa
        row.cfa_register = static_cast<std::uint32_t>(in.uleb());
        row.cfa_offset = static_cast<std::int64_t>(in.uleb());
        row.cfa_expression = 0;
        return true;
      case 0x0d:  // def_cfa_register
        row.cfa_register = static_cast<std::uint32_t>(in.uleb());
        row.cfa_expression = 0;
        return true;
      case 0x0e:  // def_cfa_offset
        row.cfa_offset = static_cast<std::int64_t>(in.uleb());
        return true;
      case 0x0f:  // def_cfa_expression
        row.cfa_expression = static_cast<std::uint64_t>(block(in));
        return true;
      case 0x12:  // def_cfa_sf
        row.cfa_register = static_cast<std::uint32_t>(in.uleb());
        row.cfa_offset = signed_unit(in);
        row.cfa_expression = 0;
        return true;
      case 0x13:  // def_cfa_offset_sf
        row.cfa_offset = signed_unit(in);
        return true;
      default:
        return false;
    }
  }

  // Instructions that say where the caller's value of a register is. All of them begin with the
  // register.
  bool sets_rule(std::uint8_t code, Stream& in, Row& row) const noexcept {
    const std::uint64_t reg = in.uleb();
    switch (code) {
      case 0x05:  // offset_extended
        set(row, reg, Rule::at_offset, unit(in.uleb()));
        return true;
      case 0x06:  // restore_extended
        if (reg < kRegisters) row.rule[reg] = initial_.rule[reg];
        return true;
      case 0x07:  // undefined
        set(row, reg, Rule::undefined, 0);
        return true;
      case 0x08:  // same_value
        set(row, reg, Rule::same, 0);
        return true;
      case 0x09:  // register
        set(row, reg, Rule::in_register, static_cast<std::int64_t>(in.uleb()));
        return true;
      case 0x10:  // expression
        set(row, reg, Rule::at_expression, block(in));
        return true;
      case 0x11:  // offset_extended_sf
        set(row, reg, Rule::at_offset, signed_unit(in));
        return true;
      case 0x14:  // val_offset
        set(row, reg, Rule::offset, unit(in.uleb()));
        return true;
      case 0x15:  // val_offset_sf
        set(row, reg, Rule::offset, signed_unit(in));
        return true;
      case 0x16:  // val_expression
        set(row, reg, Rule::expression, block(in));
        return true;
      case 0x2f:  // GNU_negative_offset_extended
        set(row, reg, Rule::at_offset, unit(0 - in.uleb()));
        return true;
      default:
        return false;
    }
  }

  const Description& d_;
  const std::uint64_t pc_;
  std::uint64_t at_;
  Row initial_;
  Row remembered_[kMostRemembered];
  int depth_ = 0;
};

// The stack of an expression, with the operations that compilers and libc use: for procedure
// linkage tables, signal frames, and functions that align their stack. It initially contains
// `first`.
class Evaluation {
 public:
  Evaluation(const Frame& frame, std::uint64_t first) noexcept
      : frame_(frame), memory_(stack_of(frame)), stack_{first} {}

  std::uint64_t result() const noexcept { return stack_[top_]; }

  // Executes the next operation. Returns false if it is none of these, or fails.
  bool step(Stream& in) noexcept {
    const auto code = in.get<std::uint8_t>();
    if (code >= 0x30 && code <= 0x4f) return push(code - 0x30u);  // lit0 to lit31
    if (code >= 0x70 && code <= 0x8f) {                           // breg0 to breg31
      const std::int64_t offset = in.sleb();
      const std::uint32_t reg = code - 0x70u;
      return reg < kRegisters && push(frame_.reg[reg] + static_cast<std::uint64_t>(offset));
    }
    switch (code) {
      case 0x06:  // deref
        return memory_.read(stack_[top_], stack_[top_]);
      case 0x23:  // plus_uconst
        stack_[top_] += in.uleb();
        return true;
      case 0x1a:
      case 0x1c:
      case 0x22:
      case 0x24:
      case 0x2a:
        return combine(code);
      default: {
        std::uint64_t value = 0;
        return constant(code, in, value) && push(value);
      }
    }
  }

 private:
  static constexpr int kDepth = 16;

  bool push(std::uint64_t value) noexcept {
    if (top_ + 1 == kDepth) return false;
    stack_[++top_] = value;
    return true;
  }

  // Returns false if the operation does not push a constant.
  static bool constant(std::uint8_t code, Stream& in, std::uint64_t& value) noexcept {
    switch (code) {
      case 0x08:  // const1u
        value = in.get<std::uint8_t>();
        return true;
      case 0x09:  // const1s
        value = static_cast<std::uint64_t>(std::int64_t{in.get<std::int8_t>()});
        return true;
      case 0x0a:  // const2u
        value = in.get<std::uint16_t>();
        return true;
      case 0x0b:  // const2s
        value = static_cast<std::uint64_t>(std::int64_t{in.get<std::int16_t>()});
        return true;
      case 0x10:  // constu
        value = in.uleb();
        return true;
      case 0x11:  // consts
        value = static_cast<std::uint64_t>(in.sleb());
        return true;
      default:
        return false;
    }
  }

  // Replaces the two topmost values by one.
  bool combine(std::uint8_t code) noexcept {
    if (top_ == 0) return false;
    const std::uint64_t right = stack_[top_--];
    std::uint64_t& left = stack_[top_];
    switch (code) {
      case 0x1a:  // and
        left &= right;
        break;
      case 0x1c:  // minus
        left -= right;
        break;
      case 0x22:  // plus
        left += right;
        break;
      case 0x24:  // shl
        left <<= right & 63;
        break;
      default:  // ge
        left = static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right) ? 1 : 0;
        break;
    }
    return true;
  }

  const Frame& frame_;
  const Extent memory_;
  std::uint64_t stack_[kDepth];
  int top_ = 0;
};

bool evaluate(std::uint64_t block, const Description& d, const Frame& frame, std::uint64_t first,
              std::uint64_t& result) noexcept {
  if (!d.tables.has(block, 1)) return false;
  Stream sized(bytes_at(block), bytes_at(d.tables.end));
  const std::uint64_t size = sized.uleb();
  if (!d.tables.has(reinterpret_cast<std::uint64_t>(sized.at()), size)) return false;
  Stream in(sized.at(), sized.at() + size);
  Evaluation evaluation(frame, first);
  while (in.more()) {
    if (!evaluation.step(in)) return false;
  }
  result = evaluation.result();
  return true;
}

// The bits of a signed return address that are not address bits. Zero bits of a plain address stay
// zero.
std::uint64_t stripped(std::uint64_t pc) noexcept {
#if defined(__aarch64__)
  return pc & ((std::uint64_t{1} << 48) - 1);
#else
  return pc;
#endif
}

bool apply(const Rule& rule, std::uint32_t reg, const Description& d, const Frame& before,
           std::uint64_t cfa, std::uint64_t& value, std::uint64_t& at) noexcept {
  at = 0;
  switch (rule.how) {
    case Rule::same:
    case Rule::undefined:
      value = before.reg[reg];
      return true;
    case Rule::offset:
      value = cfa + static_cast<std::uint64_t>(rule.value);
      return true;
    case Rule::at_offset:
      at = cfa + static_cast<std::uint64_t>(rule.value);
      break;
    case Rule::in_register:
      if (rule.value < 0 || rule.value >= static_cast<std::int64_t>(kRegisters)) return false;
      value = before.reg[rule.value];
      return true;
    case Rule::expression:
      return evaluate(static_cast<std::uint64_t>(rule.value), d, before, cfa, value);
    case Rule::at_expression:
      if (!evaluate(static_cast<std::uint64_t>(rule.value), d, before, cfa, at)) return false;
      break;
  }
  return stack_of(before).read(at, value);
}

}  // namespace

bool step(Frame& frame, const Loaded& module) noexcept {
  // A return address may be after the end of its function.
  const std::uint64_t inside = frame.interrupted ? frame.pc : frame.pc - 1;
  Description d;
  if (!find(module, inside, d)) return false;
  Row row;
  if (!Interpreter(d, inside).make(row)) return false;
  if (row.rule[d.return_column].how == Rule::undefined) return false;
  std::uint64_t cfa = 0;
  if (row.cfa_expression != 0) {
    if (!evaluate(row.cfa_expression, d, frame, 0, cfa)) return false;
  } else {
    if (row.cfa_register >= kRegisters) return false;
    cfa = frame.reg[row.cfa_register] + static_cast<std::uint64_t>(row.cfa_offset);
  }
  const std::uint64_t from = frame.reg[kStackRegister];
  if (!d.of_signals && (cfa <= from || cfa - from > kFar)) return false;
  if (cfa % sizeof(std::uint64_t) != 0) return false;
  Frame caller{};
  for (std::uint32_t r = 0; r < kRegisters; ++r) {
    std::uint64_t at = 0;
    if (!apply(row.rule[r], r, d, frame, cfa, caller.reg[r], at)) return false;
    if (r == d.return_column) caller.pc_at = at;
  }
  if (row.rule[kStackRegister].how == Rule::same) caller.reg[kStackRegister] = cfa;
  caller.pc = stripped(caller.reg[d.return_column]);
  caller.interrupted = d.of_signals;
  caller.stack_end = frame.stack_end;
  if (caller.pc == 0) return false;
  frame = caller;
  return true;
}

}  // namespace lockswap::recording
