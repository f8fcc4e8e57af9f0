// Start-up of the audit library: at the first call of an exported function, or in its constructor.
#pragma once

namespace lockswap::audit {

// For exported functions that are rare. False inside the start itself: nothing is filled in yet.
bool ensure_started() noexcept;

}  // namespace lockswap::audit
