#include <gtest/gtest.h>

#include "qkv/tokenizer.h"
#include "tests/support/errors.h"

namespace qkv {
namespace {

using Ids = std::vector<std::int64_t>;

TEST(CharacterTokenizer, SortsTheCharactersOfAText) {
  const auto t = character_tokenizer("hello é\n", false);
  EXPECT_EQ(t->kind(), "character");
  EXPECT_EQ(t->vocab_size(), 7);  // \n, space, e, h, l, o, é
  EXPECT_EQ(t->encode("hello é\n"), (Ids{3, 2, 4, 4, 5, 1, 6, 0}));
  EXPECT_EQ(t->decode(Ids{3, 6, 1, 5}), "hé o");
  EXPECT_FALSE(t->start_token());
  EXPECT_FALSE(t->stop_token());
  EXPECT_EQ(t->encode(""), Ids{});
  EXPECT_EQ(t->decode({}), "");
}

TEST(CharacterTokenizer, AnItemsBoundaryIsTokenZero) {
  const auto t = character_tokenizer("emmaolivia", true);
  EXPECT_EQ(t->vocab_size(), 8);  // and a e i l m o v
  EXPECT_EQ(t->encode("emma"), (Ids{2, 5, 5, 1}));
  EXPECT_EQ(t->start_token(), 0);
  EXPECT_EQ(t->stop_token(), 0);
  EXPECT_EQ(t->decode(Ids{0, 2, 5, 5, 1, 0}), "emma");
  EXPECT_EQ(t->token_text(0), "·");
}

TEST(EncodePrompt, BeginsByTheStartTokenAndIsNeverEmpty) {
  const auto items = character_tokenizer("emma", true);  // and a e m
  EXPECT_EQ(encode_prompt(*items, ""), Ids{0});
  EXPECT_EQ(encode_prompt(*items, "me"), (Ids{0, 3, 2}));
  const auto text = character_tokenizer("emma", false);  // a e m
  EXPECT_EQ(encode_prompt(*text, "me"), (Ids{2, 1}));
  EXPECT_EQ(encode_prompt(*text, ""), Ids{0});
  EXPECT_ERROR(input, "'x' at character 2", encode_prompt(*text, "ax"));
}

TEST(CharacterTokenizer, NamesACharacterItNeverSaw) {
  const auto t = character_tokenizer("abcf", false);
  EXPECT_ERROR(input, "U+00E9 'é' at character 4 is not in the vocabulary",
               t->encode("cafébar"));
  EXPECT_ERROR(input, "its 4 characters are 'abcf'", t->encode("x"));
  EXPECT_ERROR(input, "U+000A '↵' at character 2", t->encode("a\n"));
  EXPECT_ERROR(input, "U+1F917 '🤗' at character 1", t->encode("🤗"));
  EXPECT_ERROR(input, "U+200B '⟨200B⟩'", t->encode("a\xE2\x80\x8B"));
  EXPECT_ERROR(input, "not UTF-8: byte 0xFF after 2 characters",
               t->encode("ab\xFF"));
  EXPECT_ERROR(input, "not UTF-8: byte 0xC3", t->encode("\xC3"));
  EXPECT_ERROR(input, "not UTF-8 at byte 1",
               character_tokenizer("a\xFF", false));
  EXPECT_ERROR(input, "no characters", character_tokenizer("", true));
}

TEST(CharacterTokenizer, IdsOutsideTheVocabularyAreErrors) {
  const auto t = character_tokenizer("ab", true);
  for (const std::int64_t id :
       {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 40}) {
    EXPECT_ERROR(
        input,
        "token " + std::to_string(id) + " is outside the vocabulary of 3",
        t->decode(Ids{1, id}));
    EXPECT_ERROR(input, "outside the vocabulary", t->token_text(id));
  }
}

TEST(CharacterTokenizer, ShowsEveryTokenAsSomethingVisible) {
  const auto shown = [](std::string_view character) {
    const auto t = character_tokenizer(character, false);
    return t->token_text(0);
  };
  EXPECT_EQ(shown("e"), "e");
  EXPECT_EQ(shown(" "), "␣");
  EXPECT_EQ(shown("\n"), "↵");
  EXPECT_EQ(shown("\r"), "␍");
  EXPECT_EQ(shown("\t"), "→");
  EXPECT_EQ(shown("\x1b"), "␛");
  EXPECT_EQ(shown("\x7f"), "␡");
  EXPECT_EQ(shown("\xC2\xA0"), "⟨00A0⟩");
  EXPECT_EQ(shown("\xE2\x80\xAE"), "⟨202E⟩");
  EXPECT_EQ(shown("\xCC\x81"), "◌\xCC\x81");
  EXPECT_EQ(shown("日"), "日");
}

TEST(CharacterTokenizer, GoesThroughJsonUnchanged) {
  for (const bool boundary : {false, true}) {
    const auto t = character_tokenizer("\"\\\n\té日🤗abc", boundary);
    const std::string json = t->to_json();
    const auto copy = tokenizer_from_json(json, "x");
    EXPECT_EQ(copy->to_json(), json);
    EXPECT_EQ(copy->encode("日\n🤗\""), t->encode("日\n🤗\""));
    EXPECT_EQ(copy->start_token(), t->start_token());
  }
}

TEST(TokenizerFromJson, SaysWhatIsWrong) {
  const auto read = [](const char* json) {
    return tokenizer_from_json(json, "run.safetensors: tokenizer");
  };
  EXPECT_ERROR(input, "run.safetensors: tokenizer: not valid JSON", read("{"));
  EXPECT_ERROR(input, "must be an object", read("[]"));
  EXPECT_ERROR(input, "'kind' must be a text", read("{}"));
  EXPECT_ERROR(input, "no tokenizer 'bpe'; there is character",
               read(R"({"kind":"bpe"})"));
  EXPECT_ERROR(input, "'characters' must be a text",
               read(R"({"kind":"character","characters":1,"boundary":true})"));
  EXPECT_ERROR(input, "'boundary' must be true or false",
               read(R"({"kind":"character","characters":"ab"})"));
  EXPECT_ERROR(
      input, "different and in order, but a follows b",
      read(R"({"kind":"character","characters":"ba","boundary":true})"));
  EXPECT_ERROR(
      input, "different and in order, but a follows a",
      read(R"({"kind":"character","characters":"aa","boundary":true})"));
  EXPECT_ERROR(input, "'characters' is empty",
               read(R"({"kind":"character","characters":"","boundary":true})"));
}

TEST(CharacterTokenizer, ALongTextGoesThereAndBack) {
  std::string text;
  while (text.size() < 3 << 20) text += "the quick brown fox, naïvely 日本 ";
  const auto t = character_tokenizer(text, false);
  EXPECT_EQ(t->decode(t->encode(text)), text);
}

}  // namespace
}  // namespace qkv
