// Attention as one HTML file that asks nothing of any server: the page of web/,
// the tokens as JSON, the heads as codes of 12 bits.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/json.h"
#include "plot/cells.h"
#include "plot/svg.h"
#include "plot/theme.h"
#include "plot/token_label.h"
#include "plot/web_page.h"

namespace qkv::plot {
namespace {

using Json = nlohmann::ordered_json;

// web/maps.js reads them: values up to kTop, then the two signs.
constexpr int kTop = 4093, kHiddenCode = 4094, kBadCode = 4095;
constexpr int kLabelColumns = 24;
constexpr float kSink =
    0.5f;  // a head that gives its first key more shows less

// The finite values' range.
struct Range {
  double low = 0, high = 1;
};

Range range_of(const Attention& a) {
  if (a.quantity == Quantity::weights) return {};
  Range range{INFINITY, -INFINITY};
  for (const float value : a.values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min<double>(range.low, value);
    range.high = std::max<double>(range.high, value);
  }
  return range.low < range.high ? range : Range{};
}

int code_of(const Attention& a, const Range& range, float value) {
  if (value == kHidden) return kHiddenCode;
  if (std::isnan(value)) return kBadCode;
  const double t = a.quantity == Quantity::weights
                       ? std::sqrt(std::max(value, 0.0f))
                       : (value - range.low) / (range.high - range.low);
  return static_cast<int>(std::lround(kTop * std::clamp(t, 0.0, 1.0)));
}

// The visible keys of each row, two codes in three bytes.
std::string packed(const Attention& a, const Range& range, int layer,
                   int head) {
  std::string bytes;
  int first = -1;
  const auto put = [&](int low, int high) {
    bytes += static_cast<char>(low);
    bytes += static_cast<char>(low >> 8 | high << 4);
    bytes += static_cast<char>(high >> 4);
  };
  for (int q = 0; q < a.queries; ++q) {
    const int end =
        a.causal ? std::clamp(q + 1 + a.keys - a.queries, 0, a.keys) : a.keys;
    for (int k = 0; k < end; ++k) {
      const int code = code_of(a, range, value_at(a, layer, head, q, k));
      if (first < 0) {
        first = code;
      } else {
        put(first, code);
        first = -1;
      }
    }
  }
  if (first >= 0) put(first, 0);
  return bytes;
}

// Without padding: the number of bytes is a multiple of 3.
std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve(bytes.size() / 3 * 4);
  for (std::size_t i = 0; i + 2 < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t j) {
      return static_cast<unsigned>(static_cast<unsigned char>(bytes[i + j]));
    };
    const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (int shift = 18; shift >= 0; shift -= 6)
      out += kDigits[three >> shift & 63];
  }
  return out;
}

// The head to begin with: the one whose rows are the furthest from even, of
// those that look past the first token. {layer, head}
std::pair<int, int> first_shown(const Attention& a) {
  std::pair<int, int> best = {0, 0};
  if (a.quantity != Quantity::weights) return best;
  double most = -1;
  for (int layer = 0; layer < a.layers; ++layer)
    for (int head = 0; head < a.heads; ++head) {
      double structure = 0, first = 0;
      int rows = 0;
      for (int q = 0; q < a.queries; ++q) {
        double entropy = 0;
        int seen = 0;
        for (int k = 0; k < a.keys; ++k) {
          const float w = value_at(a, layer, head, q, k);
          if (w == kHidden) continue;
          ++seen;
          if (w > 0) entropy -= w * std::log(w);
        }
        if (seen < 2) continue;
        structure += 1 - entropy / std::log(seen);
        const float w = value_at(a, layer, head, q, 0);
        if (w > 0) first += w;
        ++rows;
      }
      if (rows > 0 && first < kSink * rows && structure / rows > most) {
        most = structure / rows;
        best = {layer, head};
      }
    }
  return best;
}

Json tokens_json(const std::vector<Token>& tokens) {
  Json list = Json::array();
  for (const Token& token : tokens) {
    Json one{{"label", token_label(token, kLabelColumns)}};
    if (reads_as_text(token)) one["text"] = token.bytes;
    list.push_back(std::move(one));
  }
  return list;
}

Json text_json(const Attention& a, const Range& range) {
  return {{"title", a.title},
          {"layers", a.layers},
          {"heads", a.heads},
          {"queries", a.queries},
          {"keys", a.keys},
          {"causal", a.causal},
          {"firstLayer", a.first_layer},
          {"firstHead", a.first_head},
          {"low", range.low},
          {"high", range.high},
          {"queryTokens", tokens_json(a.query_tokens)},
          {"keyTokens", a.key_tokens.empty() && a.keys == a.queries
                            ? Json(nullptr)
                            : tokens_json(a.key_tokens)}};
}

std::string ramp_text(Ground ground) {
  std::string text;
  for (const Rgb colour : sequential(ground)) text += hex(colour).substr(1);
  return text;
}

// Inside <script>, where only "<" could end it.
std::string script_json(const Json& json) {
  const std::string text =
      json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

// Each {{name}} of the page once, in one pass: what is put in is not looked at.
std::string filled_in(
    std::string_view page,
    const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out;
  for (;;) {
    const std::size_t begin = page.find("{{"), end = page.find("}}");
    if (begin == page.npos) return out + std::string(page);
    const std::string_view name = page.substr(begin + 2, end - begin - 2);
    out += page.substr(0, begin);
    for (const auto& [known, value] : values)
      if (known == name) out += value;
    page.remove_prefix(end + 2);
  }
}

}  // namespace

std::string attention_html(const std::vector<Attention>& texts) {
  if (texts.empty()) fail_input("[attention_html] no text to show");
  const Attention& first = texts.front();
  Json all = Json::array();
  std::string shown, rest;
  std::pair<int, int> start;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Attention& a = texts[i];
    check_attention("attention_html", a);
    if (a.values.empty())
      fail_input("[attention_html] text {} has no tokens", i);
    if (a.layers != first.layers || a.heads != first.heads ||
        a.quantity != first.quantity)
      fail_input(
          "[attention_html] text {} differs in layers, heads or quantity", i);
    if (i == 0) start = first_shown(a);
    const Range range = range_of(a);
    all.push_back(text_json(a, range));
    // What is shown first stands before the script, which need not wait for the
    // megabytes behind it.
    for (int layer = 0; layer < a.layers; ++layer)
      for (int head = 0; head < a.heads; ++head)
        (std::pair(layer, head) == start ? shown : rest) += fmt::format(
            "<script type=\"text/plain\" id=\"codes-{}-{}-{}\">{}"
            "</script>\n",
            i, layer, head, base64(packed(a, range, layer, head)));
  }
  const Json data{
      {"quantity", first.quantity == Quantity::weights ? "weights" : "scores"},
      {"start", {start.first, start.second}},
      {"ramps",
       {{"light", ramp_text(Ground::light)},
        {"dark", ramp_text(Ground::dark)}}},
      {"texts", std::move(all)}};
  std::string title = first.title;
  for (std::size_t i = 1; i < texts.size(); ++i)
    title += " | " + texts[i].title;
  return filled_in(kPageHtml, {{"title", escape(title)},
                               {"about", escape(first.about)},
                               {"style", std::string(kPageCss)},
                               {"data", script_json(data)},
                               {"first", std::move(shown)},
                               {"rest", std::move(rest)},
                               {"script", std::string(kPageScript)}});
}

}  // namespace qkv::plot
