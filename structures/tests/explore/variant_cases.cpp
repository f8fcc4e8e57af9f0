// The cases of the locks in variants/list.def: those of the shipped locks, by the same scripts
// (tests/explore/rw_cases.h).
#include <algorithm>
#include <iterator>
#include <string>
#include <type_traits>

#include "rw_cases.h"
#include "structures_cases.h"
#include "variants/cores.h"
#include "variants/forms.h"

namespace lockswap::explore {
namespace {

enum class Extent { all, few, unbiased };

template <class Form>
struct Over {
  template <class W, class Core>
  using Lock = typename Form::template Lock<Explored, W, Core, CountNothing>;
};

template <template <class, class> class Core, class Form, Extent kExtent>
void add(rw::RwBuilder& builder, const std::string& name) {
  if constexpr (kExtent == Extent::unbiased) {
    builder.add_unbiased_form<Core, Over<Form>>(name);
  } else if constexpr (std::is_same_v<Form, variants::NoBravo>) {
    builder.add_line<Core, NO_WORDS>(name);
  } else if constexpr (kExtent == Extent::all) {
    builder.add_form<Core, Over<Form>>(name);
  } else {
    builder.add_form_briefly<Core, Over<Form>>(name);
  }
}

}  // namespace

void add_variant_cases(Cases& cases) {
  using namespace variants;
  rw::RwBuilder builder;
  constexpr Extent ALL_CASES = Extent::all, FEW_CASES = Extent::few, NO_BIAS = Extent::unbiased;
#define VARIANT(name, Core, Form, extent) add<Core, Form, extent>(builder, name);
#include "variants/list.def"
#undef VARIANT
  std::ranges::move(builder.take(), std::back_inserter(cases));
}

}  // namespace lockswap::explore
