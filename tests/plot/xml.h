// A strict reader of the XML that pictures are made of: whatever is not well
// formed throws.
#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::plot {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // directly inside, entities resolved
  int parent = -1;   // its index, -1 for the root
  double number(const std::string& attribute) const {
    return std::stod(attributes.at(attribute));
  }
};

class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) {}

  // In document order; the root first.
  std::vector<Element> read() {
    std::vector<int> open;
    while (at_ < text_.size()) {
      if (text_[at_] != '<') {
        const std::string text = content("<");
        if (open.empty()) {
          for (const char c : text)
            if (!std::isspace(static_cast<unsigned char>(c)))
              fail("text outside the root");
        } else {
          elements_[open.back()].text += text;
        }
      } else if (text_.substr(at_, 2) == "</") {
        at_ += 2;
        const std::string name = word();
        expect(">");
        if (open.empty() || elements_[open.back()].name != name)
          fail("</" + name + "> closes nothing");
        open.pop_back();
      } else {
        ++at_;
        if (open.empty() && !elements_.empty()) fail("a second root");
        Element element{word(), {}, "", open.empty() ? -1 : open.back()};
        while (std::isspace(static_cast<unsigned char>(peek()))) {
          skip_space();
          if (peek() == '/' || peek() == '>') break;
          const std::string name = word();
          expect("=\"");
          if (!element.attributes.emplace(name, content("\"")).second)
            fail("attribute " + name + " twice");
          expect("\"");
        }
        const bool closed = peek() == '/';
        if (closed) ++at_;
        expect(">");
        elements_.push_back(element);
        if (!closed) open.push_back(static_cast<int>(elements_.size()) - 1);
      }
    }
    if (!open.empty()) fail("<" + elements_[open.back()].name + "> stays open");
    if (elements_.empty()) fail("no element");
    return elements_;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(why + " at byte " + std::to_string(at_) + ": " +
                             std::string(text_.substr(at_, 40)));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (std::isspace(static_cast<unsigned char>(peek()))) ++at_;
  }
  void expect(std::string_view what) {
    if (text_.substr(at_, what.size()) != what)
      fail("expected " + std::string(what));
    at_ += what.size();
  }
  std::string word() {
    const std::size_t begin = at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '-' ||
           peek() == ':')
      ++at_;
    if (at_ == begin) fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  // Up to `end`: no '<' inside, entities of the five known names only.
  std::string content(std::string_view end) {
    std::string out;
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '<') fail("a bare <");
      if (c < 0x20 && c != '\n' && c != '\t' && c != '\r')
        fail("a control character");
      if (c != '&') {
        out += text_[at_++];
        continue;
      }
      static const std::map<std::string_view, char> kEntities = {
          {"&lt;", '<'},   {"&gt;", '>'},    {"&amp;", '&'},
          {"&quot;", '"'}, {"&apos;", '\''},
      };
      const std::size_t semicolon = text_.find(';', at_);
      if (semicolon == text_.npos) fail("a bare &");
      const auto entity =
          kEntities.find(text_.substr(at_, semicolon - at_ + 1));
      if (entity == kEntities.end()) fail("an unknown entity");
      out += entity->second;
      at_ = semicolon + 1;
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Element> elements_;
};

inline std::vector<Element> parse_xml(std::string_view text) {
  return XmlReader(text).read();
}

}  // namespace qkv::plot
