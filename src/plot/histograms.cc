// Histograms in rows over one axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "plot/axis.h"
#include "plot/chart.h"
#include "plot/drawing.h"
#include "plot/number.h"
#include "qkv/plot_course.h"

namespace qkv::plot {
namespace {

constexpr double kMargin = 4, kRow = 26, kGap = 5, kHead = 32, kFoot = 26;

// What part of the finite values each bin holds.
std::vector<double> shares_of(const std::vector<float>& values,
                              const Histograms& h) {
  std::vector<double> shares(static_cast<std::size_t>(h.bins));
  double count = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double bin = (value - h.low) / (h.high - h.low) * h.bins;
    shares[static_cast<std::size_t>(std::clamp(bin, 0.0, h.bins - 1.0))] += 1;
    ++count;
  }
  for (double& share : shares) share /= std::max(count, 1.0);
  return shares;
}

// The upper edge of the bins; x holds the places, height that of a share.
Path steps_of(const std::vector<double>& shares, const Axis& x, double y,
              double height_of_one) {
  Path path;
  path.to(x.from, y);
  const double bin = (x.to - x.from) / static_cast<double>(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double top = y - std::min(shares[i] * height_of_one, kRow);
    path.to(x.from + static_cast<double>(i) * bin, top)
        .to(x.from + static_cast<double>(i + 1) * bin, top);
  }
  path.to(x.to, y);
  return path;
}

void check(const Histograms& h) {
  check_width("draw_histograms", h.width_mm);
  if (!(h.low < h.high) || !std::isfinite(h.high - h.low))
    fail_input("[draw_histograms] low {} must be below high {}", h.low, h.high);
  if (h.bins < 1 || h.bins > 1000)
    fail_input("[draw_histograms] {} bins; 1 to 1000 can be drawn", h.bins);
  if (!(h.full >= 0 && h.full <= 1))
    fail_input("[draw_histograms] full must be a part of all, not {}", h.full);
}

}  // namespace

Picture draw_histograms(const Histograms& h) {
  check(h);
  const double width = h.width_mm * kPointsPerMm;
  const auto rows = static_cast<double>(h.samples.size());
  Drawing drawing(width, kHead + rows * (kRow + kGap) + kFoot, h.title,
                  h.about);
  std::vector<std::vector<double>> shares;
  double full = h.full, names = 0, notes = 0;
  for (const Sample& sample : h.samples) {
    shares.push_back(shares_of(sample.values, h));
    if (h.full == 0)
      full = std::max(
          full, *std::max_element(shares.back().begin(), shares.back().end()));
    names = std::max(names, sans_width(sample.name, kTextSize));
    notes = std::max(notes, sans_width(sample.note, kTextSize));
  }
  if (full == 0) full = 1;
  const Axis x{h.low, h.high, kMargin + names + 6, width - kMargin - notes - 6,
               false};
  if (x.to - x.from < 20)
    fail_input("[draw_histograms] {} mm leave no room beside the names",
               h.width_mm);
  drawing.heading(kMargin, kMargin + kTitleSize, width - 2 * kMargin, h.title);
  drawing.text(x.from, kMargin + kTitleSize + 12,
               fmt::format("full height: {} % of a row's values",
                           fixed_text(100 * full, 1)),
               {.fill = kInk3});
  const double bottom = kHead + rows * (kRow + kGap);
  const Ticks marks = ticks(x, 30);
  for (const double value : marks.values) {
    drawing.line(x.at(value), kHead, x.at(value), bottom, stroked(kRule, 0.35));
    drawing.text(x.at(value), bottom + 10, fixed_text(value, marks.decimals),
                 {.anchor = Anchor::middle, .fill = kInk3});
  }
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double y = kHead + static_cast<double>(i + 1) * (kRow + kGap);
    Path steps = steps_of(shares[i], x, y, kRow / full);
    drawing.path(steps, {.fill = kSeries[0].colour, .opacity = 0.3});
    drawing.path(std::move(steps), stroked(kSeries[0].colour, 0.6));
    drawing.line(x.from, y, x.to, y, stroked(kEdge, 0.5));
    drawing.text(x.from - 6, y - 2, h.samples[i].name,
                 {.anchor = Anchor::end, .fill = kInk});
    drawing.text(x.to + 6, y - 2, h.samples[i].note, {});
  }
  drawing.text((x.from + x.to) / 2, bottom + 21, h.x_name,
               {.anchor = Anchor::middle});
  return picture_of(std::move(drawing));
}

}  // namespace qkv::plot
