// A reference to something callable, for code off the fast paths that would otherwise be compiled
// once per caller.
#pragma once

#include <concepts>
#include <type_traits>

namespace lockswap {

template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  // Refers to `f`, which must outlive every call. Implicit, so that callers pass a lambda.
  // NOLINTBEGIN(google-explicit-constructor)
  template <class F>
  requires(std::is_class_v<F> && !std::same_as<F, FunctionRef> &&
           std::is_invocable_r_v<Result, const F&, Arguments...>) FunctionRef(const F& f)
  noexcept
      : object_(&f), call_([](const void* object, Arguments... arguments) -> Result {
          return (*static_cast<const F*>(object))(arguments...);
        }) {}
  FunctionRef(Result (*f)(Arguments...)) noexcept
      : object_(reinterpret_cast<const void*>(f)),
        call_([](const void* object, Arguments... arguments) -> Result {
          return reinterpret_cast<Result (*)(Arguments...)>(const_cast<void*>(object))(
              arguments...);
        }) {}
  // NOLINTEND(google-explicit-constructor)

  Result operator()(Arguments... arguments) const { return call_(object_, arguments...); }

 private:
  const void* object_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace lockswap
