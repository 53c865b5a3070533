#include <planaria/actors/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <sstream>

namespace planaria {

double schedule::factor(std::uint64_t step) const noexcept {
  const double warm = step < warmup_steps ? static_cast<double>(step + 1) / static_cast<double>(warmup_steps) : 1.0;
  switch (how) {
    case kind::constant: return warm;
    case kind::step: return warm * std::pow(gamma, static_cast<double>(step / std::max<std::uint64_t>(step_size, 1)));
    case kind::cosine: {
      const double done =
          std::min(1.0, static_cast<double>(step) / static_cast<double>(std::max<std::uint64_t>(total_steps, 1)));
      return warm * (floor + (1.0 - floor) * 0.5 * (1.0 + std::cos(std::numbers::pi * done)));
    }
  }
  return warm;
}

std::string schedule::describe() const {
  std::ostringstream text;
  text.precision(17);
  text << "schedule=" << static_cast<int>(how) << " warmup=" << warmup_steps << " step_size=" << step_size
       << " gamma=" << gamma << " total=" << total_steps << " floor=" << floor;
  return text.str();
}

}  // namespace planaria
