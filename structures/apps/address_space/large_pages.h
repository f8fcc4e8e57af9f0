// A program on a machine with pages of 2 MB: of one that its region has as a whole it touches one
// small page, since the others' accesses would be no faults there; of all else each page.
// faults_again: it does so over and over, where pages are there already.
#pragma once

#include <memory>

#include "address_space/program.h"

namespace bench {

std::unique_ptr<Program> with_large_pages(std::unique_ptr<Program> program, bool faults_again);

}  // namespace bench
