// How many operations per second one core does by the unit that does them.
#pragma once

#include <vector>

#include "figure.hpp"

namespace zoo {

// Only what this processor has an instruction for; a multiply-add counts as two operations.
std::vector<Figure> peak_figures();

}  // namespace zoo
