// The page of a single file: nothing from outside, every number as it was,
// tokens that cannot break out; and, where Chromium is installed, worked as a
// person would.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>

#include "core/json.h"
#include "plot/number.h"
#include "plot/theme.h"
#include "qkv/plot.h"
#include "tests/plot/attention_case.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/pattern.h"

namespace qkv::plot {
namespace {

using test::TempFolder;

const std::vector<Token> kNasty = {
    {"The"},      {" cat"},  {"</script><script>x()"},
    {"&amp;<b>"}, {"\"q\""}, {"\n"},
    {" שלום"},    {"😀"},     {"\xE2"},
    {"{{data}}"}, {"it's"},  {"eot", true}};

Attention nasty_attention() {
  Attention attention = random_attention(2, 2, 12, 12, true);
  attention.query_tokens = kNasty;
  attention.title = "</title><script>alert('&')</script>\n\"שלום\"";
  attention.about = "<b>about</b> {{rest}}";
  return attention;
}

// The text of the element with this id; scripts hold no markup.
std::string element(const std::string& html, const std::string& id) {
  const std::size_t at = html.find("id=\"" + id + "\"");
  if (at == html.npos) return "";
  const std::size_t begin = html.find('>', at) + 1;
  return html.substr(begin, html.find("</", begin) - begin);
}

std::vector<int> decoded(const std::string& base64) {
  const std::string digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<int> bits;
  for (const char c : base64)
    for (int bit = 5; bit >= 0; --bit)
      bits.push_back(static_cast<int>(digits.find(c)) >> bit & 1);
  std::vector<int> bytes(bits.size() / 8);
  for (std::size_t i = 0; i < bytes.size() * 8; ++i)
    bytes[i / 8] = bytes[i / 8] * 2 + bits[i];
  // Little-endian fields of 12 bits.
  std::vector<int> codes;
  for (std::size_t bit = 0; bit + 12 <= bytes.size() * 8; bit += 12) {
    int code = 0;
    for (int i = 11; i >= 0; --i) {
      const std::size_t at = bit + i;
      code = code * 2 + (bytes[at / 8] >> at % 8 & 1);
    }
    codes.push_back(code);
  }
  return codes;
}

TEST(AttentionHtml, AsksForNothing) {
  const std::string html = attention_html({nasty_attention()});
  for (const char* part :
       {"http:", "https:", "src=", "href=", "url(", "@import", "fetch(",
        "XMLHttpRequest", "innerHTML", "eval(", "\nimport ", "\nexport "})
    EXPECT_EQ(html.find(part), html.npos) << part;
  EXPECT_NE(html.find("Content-Security-Policy\" content=\"default-src 'none'"),
            html.npos);
  EXPECT_EQ(html.find("{{title}}"), html.npos);
}

TEST(AttentionHtml, NoTextBreaksOut) {
  const std::string html = attention_html({nasty_attention()});
  const auto count = [&](const std::string& part) {
    int n = 0;
    for (std::size_t at = 0; (at = html.find(part, at)) != html.npos; ++at) ++n;
    return n;
  };
  // data, four heads, the page's own.
  EXPECT_EQ(count("<script"), 6);
  EXPECT_EQ(count("</script"), 6);
  EXPECT_EQ(count("<b>"), 0);
  const auto data = nlohmann::json::parse(element(html, "data"));
  const auto& tokens = data["texts"][0]["queryTokens"];
  ASSERT_EQ(tokens.size(), kNasty.size());
  EXPECT_EQ(tokens[2]["text"], "</script><script>x()");
  EXPECT_EQ(tokens[9]["text"], "{{data}}");
  EXPECT_EQ(tokens[8]["label"], "‹E2›");
  EXPECT_FALSE(tokens[8].contains("text"));
  EXPECT_FALSE(tokens[11].contains("text")) << "a special token is marked";
  EXPECT_EQ(data["texts"][0]["title"],
            "</title><script>alert('&')</script>\n\"שלום\"");
}

TEST(AttentionHtml, HoldsEveryVisibleWeight) {
  const Attention attention = random_attention(2, 3, 7, 9, true);
  const std::string html = attention_html({attention});
  for (int layer = 0; layer < 2; ++layer)
    for (int head = 0; head < 3; ++head) {
      const auto codes =
          decoded(element(html, "codes-0-" + std::to_string(layer) + "-" +
                                    std::to_string(head)));
      std::size_t i = 0;
      for (int q = 0; q < 7; ++q)
        for (int k = 0; k <= q + 2; ++k, ++i) {
          ASSERT_LT(i, codes.size());
          const double root = codes[i] / 4093.0;
          const float weight =
              attention.values[((layer * 3 + head) * 7 + q) * 9 + k];
          EXPECT_NEAR(root, std::sqrt(weight), 0.5001 / 4093);
        }
      EXPECT_LE(codes.size() - i, 1u) << "masked pairs take no room";
    }
}

TEST(AttentionHtml, ScoresKeepTheirRangeAndTheirSigns) {
  Attention attention;
  attention.queries = 2;
  attention.keys = 2;
  attention.quantity = Quantity::scores;
  attention.values = {-3, kHidden, std::nanf(""), 5};
  const std::string html = attention_html({attention});
  const auto data = nlohmann::json::parse(element(html, "data"));
  EXPECT_EQ(data["texts"][0]["low"], -3);
  EXPECT_EQ(data["texts"][0]["high"], 5);
  EXPECT_EQ(decoded(element(html, "codes-0-0-0")),
            (std::vector<int>{0, 4094, 4095, 4093}));
}

// 144 heads of 256 tokens in 12 MB.
TEST(AttentionHtml, StaysSmall) {
  const std::string one =
      attention_html({random_attention(1, 1, 256, 256, true)});
  const std::string two =
      attention_html({random_attention(1, 2, 256, 256, true)});
  const double head = static_cast<double>(two.size() - one.size());
  EXPECT_LT(one.size() + 143 * head, 12e6);
  EXPECT_LT(one.size() - head, 100e3) << "the page itself";
}

TEST(AttentionHtml, RefusesWhatItCannotShow) {
  EXPECT_ERROR(input, "no text", attention_html({}));
  EXPECT_ERROR(input, "no tokens", attention_html({Attention{}}));
  EXPECT_ERROR(input, "differs",
               attention_html({random_attention(1, 1, 3, 3, true),
                               random_attention(1, 2, 3, 3, true)}));
}

// What Chromium makes of a page with the driver in it; null without Chromium.
// Frames become timers: its virtual time waits for those alone.
nlohmann::json worked(const std::string& html, const std::string& size) {
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) return {};
  TempFolder folder;
  std::string page = html;
  page.replace(page.find("<meta charset"), 0,
               "<script>const faults = []; addEventListener('error', e => "
               "faults.push(e.message)); requestAnimationFrame = draw => "
               "setTimeout(() => draw(performance.now())); addEventListener("
               "'securitypolicyviolation', e => faults.push(e.blockedURI));"
               "</script>\n");
  page.replace(page.find("</body>"), 0,
               "<script>" +
                   test::read_bytes(test::fixture("plot/page_driver.js")) +
                   "</script>\n");
  test::write_bytes(folder / "page.html", page);
  const std::string command =
      "timeout 120 chromium --headless=new --no-sandbox --disable-gpu "
      "--user-data-dir='" +
      folder.path() + "/profile' --window-size=" + size +
      " --virtual-time-budget=600000 --dump-dom 'file://" +
      (folder / "page.html") + "' >'" + (folder / "dom") + "' 2>/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const std::string dom = test::read_bytes(folder / "dom");
  std::string text = element(dom, "results");
  for (const auto& [entity, c] :
       std::map<std::string, std::string>{{"&lt;", "<"}, {"&gt;", ">"}})
    text = test::replaced(text, entity, c);
  text = test::replaced(text, "&amp;", "&");
  const auto results = nlohmann::json::parse(text, nullptr, false);
  EXPECT_TRUE(results.is_object()) << "the driver did not come to its end";
  return results;
}

class Browser : public testing::TestWithParam<const char*> {};

TEST_P(Browser, ShowsWhatThereIs) {
  const Attention attention = nasty_attention();
  const auto seen = worked(attention_html({attention}), GetParam());
  if (seen.is_null()) GTEST_SKIP() << "no chromium on this machine";
  ASSERT_TRUE(seen.is_object());
  EXPECT_EQ(seen["faults"].dump(), "[]");
  EXPECT_EQ(seen["requests"].dump(), "[]");
  EXPECT_EQ(seen["state"], "ready");
  EXPECT_EQ(seen["heads"], 4);
  EXPECT_EQ(seen["strip"][2], "</script><script>x()");
  EXPECT_EQ(seen["strip"][5], "↵\n");
  EXPECT_EQ(seen["strip"][8], "‹E2›");
  EXPECT_EQ(seen["strip"][11], "⟦eot⟧");

  // Layer and head that it began with stand in the address.
  int layer = -1, head = -1;
  const std::string hash = seen["hash"];
  ASSERT_EQ(std::sscanf(hash.c_str(), "#h=%d.%d", &layer, &head), 2) << hash;
  const auto weight = [&](int l, int h, int q, int k) {
    return attention.values[((l * 2 + h) * 12 + q) * 12 + k];
  };
  // Every cell was met, its number and its colour right.
  std::map<std::pair<int, int>, int> met;
  for (const auto& cell : seen["cells"]) {
    const std::string text = cell[0];
    const auto matches =
        test::all_found(text,
                        "^(\\d+) ‹[^]*› → (\\d+) ‹[^]*›, layer (\\d+) "
                        "head (\\d+): (masked|[<.0-9]+)[^]*$");
    if (matches.empty()) continue;
    const std::vector<std::string>& match = matches[0];
    const int q = std::stoi(match[1]), k = std::stoi(match[2]);
    ++met[{q, k}];
    EXPECT_EQ(std::stoi(match[3]), layer);
    EXPECT_EQ(std::stoi(match[4]), head);
    if (k > q) {
      EXPECT_EQ(match[5], "masked");
      continue;
    }
    const double w = weight(layer, head, q, k);
    const std::string number = match[5];
    if (number != weight_text(w)) {  // the code may round the last digit
      ASSERT_NE(number[0], '<') << text << " for " << w;
      EXPECT_NEAR(std::stod(number), w, 0.0006 * std::sqrt(w) + 0.0006) << text;
    }
  }
  EXPECT_EQ(met.size(), 144u);

  EXPECT_NE(std::string(seen["token"]).find("2 ‹"), std::string::npos);
  EXPECT_EQ(std::string(seen["pair"][0]).find("4 ‹\"q\"› → 1 ‹·cat›"), 0u)
      << seen["pair"][0];
  EXPECT_NE(std::string(seen["pair"][1]).find("q=4"), std::string::npos);
  EXPECT_EQ(seen["unlocked"], hash);

  const int next = (layer * 2 + head + 1) % 4;
  const auto name = [](int l, int h) {
    return "#h=" + std::to_string(l) + "." + std::to_string(h);
  };
  EXPECT_EQ(seen["nextHead"], name(next / 2, next % 2));
  const int below = (next / 2 + 1) % 2;
  EXPECT_EQ(seen["nextLayer"], name(below, next % 2));
  EXPECT_EQ(seen["lockedByKey"][1], name(below, next % 2) + "&q=11&k=10");
  EXPECT_EQ(std::string(seen["lockedByKey"][0]).find("11 ‹⟦eot⟧› → 10 ‹it's›"),
            0u);
  EXPECT_EQ(seen["scale"], name(below, next % 2) + "&q=11&k=10&y=linear");
  EXPECT_NE(std::string(seen["zoomed"]).find("&b="), std::string::npos);
  ASSERT_EQ(seen["table"].size(), 12u);
  EXPECT_NE(std::string(seen["help"]).find("previous, next head"),
            std::string::npos);
  EXPECT_EQ(std::string(seen["fromAddress"])
                .find("3 ‹&amp;<b>› → 1 ‹·cat›, layer 1 head 0: " +
                      weight_text(weight(1, 0, 3, 1)).substr(0, 4)),
            0u)
      << seen["fromAddress"];
  EXPECT_NE(std::string(seen["wrongAddress"])
                .find("ignored in the address: "
                      "h=9.9, q=77"),
            std::string::npos)
      << seen["wrongAddress"];
  EXPECT_EQ(seen["grounds"][0][0], "Theme: light");
  EXPECT_EQ(seen["grounds"][1][1], "rgb(21, 22, 19)");
  EXPECT_NE(seen["grounds"][0][1], seen["grounds"][1][1]);
}

INSTANTIATE_TEST_SUITE_P(WideAndNarrow, Browser,
                         testing::Values("1280,900", "400,800"));

}  // namespace
}  // namespace qkv::plot
