// Small files of each format with one byte, or one value, changed: what each reader then says or
// reads is in tests/golden/io.
#include <cstring>

#include "gradus/io/csv.h"
#include "gradus/io/json.h"
#include "gradus/io/npy.h"
#include "gradus/io/pretrained_tokenizer.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/tensor_source.h"
#include "gradus/io/text.h"
#include "gradus/io/tokenizer.h"
#include "gradus/io/word_tokenizer.h"
#include "gradus/ops/members.h"
#include "gradus/tests/io/gguf_parts.h"
#include "gradus/tests/io/outcomes.h"

namespace gradus::testing {
namespace {

using io::PretrainedTokenizer;
using io::TensorSource;

const std::vector<int> kBytes = {255, -1};  // and one more than there is
const std::vector<std::string> kValues = {"null",  "0",    "-1",      "\"ab\"", "\"\"",
                                          "false", "true", "[\"a\"]", "{}"};

std::string shown(const Tensor& x) {
  std::string out = str_cat(x.dtype(), " ", x.shape(), ":");
  for (const double v : x.to(Dtype::f64).flatten().to_vector<double>()) {
    char number[32];
    std::snprintf(number, sizeof number, " %.4g", v);
    out += std::isnan(v) ? " nan" : number;
  }
  return out;
}

std::string shown(const io::Fact& fact) {
  return std::visit(
      [](const auto& x) -> std::string {
        if constexpr (requires { x.size(), x.front() + 1.0; }) {
          std::string out = "[";
          for (const auto& each : x) out += str_cat(" ", each);
          return out + " ]";
        } else if constexpr (requires { x[0].size(); }) {
          std::string out = "[";
          for (const auto& each : x) out += " " + each;
          return out + " ]";
        } else {
          return str_cat(x);
        }
      },
      fact);
}

std::string read_source(const std::string& bytes) {
  TensorSource source = TensorSource::parse(as_bytes(bytes), "m");
  std::string out;
  for (const auto& [key, fact] : source.facts())
    out += io::in_short(key) + " " + io::in_short(shown(fact)) + "; ";
  for (const auto& [name, tensor] : source.tensors())
    out += name + " " + tensor.dtype + " " +
           shown(source.read(name, io::loaded_as(tensor.stored))) + "; ";
  return out;
}

/// A fact of each type, and two tensors.
std::string small_gguf() {
  const auto list = [](unsigned of, std::uint64_t n) { return raw(9u) + raw(of) + raw(n); };
  const std::string facts[] = {text("a") + raw(0u) + "\x82",
                               text("b") + raw(1u) + "\x82",
                               text("c") + raw(2u) + raw<std::uint16_t>(0x8002),
                               text("d") + raw(3u) + raw<std::uint16_t>(0x8002),
                               text("e") + raw(4u) + raw(0x80000002u),
                               text("f") + raw(5u) + raw(0x80000002u),
                               text("g") + raw(6u) + raw(-1.5f),
                               text("h") + raw(7u) + "\1",
                               text("i") + raw(8u) + text("ja"),
                               text("j") + raw(10u) + raw<std::uint64_t>(7),
                               text("k") + raw(11u) + raw<std::int64_t>(-7),
                               text("l") + raw(12u) + raw(0.1),
                               text("m") + list(4, 2) + raw(1u) + raw(2u),
                               text("n") + list(6, 2) + raw(0.5f) + raw(2.f),
                               text("o") + list(12, 1) + raw(0.1),
                               text("p") + list(8, 2) + text("x") + text("") +
                                   text("general.alignment") + raw(4u) + raw(8u)};
  std::string out = "GGUF" + raw(3u) + raw<std::uint64_t>(2) + raw<std::uint64_t>(17);
  for (const std::string& each : facts) out += each;
  out += text("u") + raw(1u) + raw<std::uint64_t>(2) + raw(0u) + raw<std::uint64_t>(0);
  out += text("v") + raw(2u) + raw<std::uint64_t>(1) + raw<std::uint64_t>(3) + raw(1u) +
         raw<std::uint64_t>(8);
  out.resize((out.size() + 7) / 8 * 8);
  return out + raw(1.5f) + raw(-2.f) + raw<std::uint16_t>(0x3c00) + raw<std::uint16_t>(0x4000) +
         raw<std::uint16_t>(0xc000) + std::string(2, '\0');
}

std::string small_safetensors() {
  const std::string header =
      R"({"__metadata__":{"k":"w"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"U8","shape":[],"data_offsets":[8,9]},)"
      R"("c":{"dtype":"BOOL","shape":[0,3],"data_offsets":[9,9]}})";
  return raw<std::uint64_t>(header.size()) + header + raw(1.5f) + raw(-2.f) + "\x07";
}

std::string npy(const std::string& dict, const std::string& numbers, char version = 1) {
  std::string out = std::string("\x93NUMPY") + version + '\0';
  out += raw(static_cast<std::uint16_t>(dict.size()));
  if (version > 1) out += std::string(2, '\0');
  return out + dict + numbers;
}

std::string read_npy(const std::string& bytes) {
  return shown(io::parse_npy(as_bytes(bytes), "x.npy"));
}

/// A tokenizer.json of three letters and some words of them.
Document small_tokenizer() {
  return Document::parse(R"({"version":"1.0","truncation":null,"padding":null,
    "added_tokens":[{"id":4,"content":"<end>","single_word":false,"lstrip":false,"rstrip":false,
      "normalized":false,"special":true},{"id":5,"content":"<e"}],
    "normalizer":null,
    "pre_tokenizer":{"type":"Sequence","pretokenizers":[
      {"type":"Digits","individual_digits":true},
      {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]},
    "post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel"},
      {"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<end>"}},
        {"Sequence":{"id":"A"}}],"pair":[],
        "special_tokens":{"<end>":{"id":"<end>","ids":[4],"tokens":["<end>"]}}}]},
    "decoder":{"type":"ByteLevel"},
    "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"",
      "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
      "vocab":{"a":0,"b":1,"c":2,"ab":3},"merges":[["a","b"]]}})");
}

Document small_bert() {
  return Document::parse(R"({"added_tokens":[{"id":1,"content":"[CLS]","special":true}],
    "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
      "strip_accents":null,"lowercase":true},
    "pre_tokenizer":{"type":"BertPreTokenizer"},
    "post_processor":{"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]},
    "decoder":{"type":"WordPiece"},
    "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##",
      "max_input_chars_per_word":5,"vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3,"##b":4,"A":5}}})");
}

std::string ids_of(const PretrainedTokenizer& tokenizer, const char* sample) {
  std::string out;
  for (const std::int64_t id : tokenizer.encode_whole(sample)) out += std::to_string(id) + " ";
  for (std::int64_t id = 0; id < tokenizer.vocab_size(); ++id)
    out += io::in_short(tokenizer.bytes_of(id)) + (tokenizer.is_special(id) ? "! " : " ");
  return out;
}

std::string changed_tokenizer(const Document& base, const char* sample) {
  const auto read = [&](const std::string& json) {
    return ids_of(PretrainedTokenizer::parse(json, "t"), sample);
  };
  const std::string before = read(base.dump());
  return before + "\n" + every_change(base, kValues, "/model/vocab", [&](const std::string& json) {
           const std::string now = read(json);
           return now == before ? "as before" : now;
         });
}

}  // namespace

TEST_CASE("a GGUF file with any byte changed") {
  check_golden("io/gguf_changed.txt",
               read_source(small_gguf()) + "\n" + every_byte(small_gguf(), kBytes, read_source));
}

TEST_CASE("a safetensors file with any byte changed") {
  check_golden("io/safetensors_changed.txt",
               read_source(small_safetensors()) + "\n" +
                   every_byte(small_safetensors(), kBytes, read_source));
}

TEST_CASE("a .npy file with any byte changed") {
  const std::string numbers = raw(1.f) + raw(2.f) + raw(3.f) + raw(4.f) + raw(5.f) + raw(6.f);
  const std::string c = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  const std::string fortran = "{'shape':(3,2,),\"fortran_order\": True,'descr':'<f4'}";
  std::string out = every_byte(npy(c, numbers), kBytes, read_npy) + "== fortran\n" +
                    every_byte(npy(fortran, numbers, 3), {'1', -1}, read_npy);
  for (const std::string dict :
       {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<i8', 'fortran_order': True, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,2,1,1,3,1,1,1)}",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (1,2,1,3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296,4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4', 'descr': '<f4'}", "{}", ""})
    out += dict + "\n  " + outcome_of([&] { return read_npy(npy(dict, numbers)); }) + "\n";
  check_golden("io/npy_changed.txt", out);
}

TEST_CASE("JSON with any byte changed") {
  const std::string json = R"({"a":[1,-2.5e1,{"b":null}],"c d":true,"é":"\u00e9\\"})";
  check_golden(
      "io/json_changed.txt", every_byte(json, {'"', ',', '7'}, [](const std::string& text) {
        const io::Json read = io::Json::parse(text, "j");
        std::string out;
        for (const auto& [key, value] : read.members()) out += key + "=" + value.shown() + " ";
        for (const auto& each : read.at("a").elements()) out += each.shown() + " ";
        return out + outcome_of([&] { return str_cat(read.at("a").elements().at(1).whole()); }) +
               " " + outcome_of([&] { return str_cat(read.at("c d").number()); }) + " " +
               outcome_of([&] { return str_cat(read.at("\u00e9").flag()); }) + " " +
               outcome_of([&] { return str_cat(read.at("a").sizes(2).size()); });
      }));
}

TEST_CASE("a table of numbers with any byte changed") {
  const auto read = [](const std::string& text) {
    const io::Table table = io::parse_csv(text, "t.csv");
    std::string out;
    for (const std::string& each : table.columns) out += "[" + each + "]";
    return out + shown(table.values);
  };
  check_golden("io/csv_changed.txt", every_byte("a, \"b,\"\"c\" \r\n1,+2.5\n\"-3\",4e1\n",
                                                {'"', ',', '\n', '-', 'x'}, read));
}

TEST_CASE("a tokenizer of byte pairs with any value changed") {
  check_golden("io/bpe_changed.txt", changed_tokenizer(small_tokenizer(), "ab<end>cb<e<endab"));
}

TEST_CASE("a tokenizer of words with any value changed") {
  check_golden("io/word_piece_changed.txt",
               changed_tokenizer(small_bert(), "Ab\x01 [CLS] abbbbb \xC3\xA1"));
}

TEST_CASE("tokenizers of our own with any value changed") {
  std::string out;
  const auto read = [](const std::string& json) {
    const auto tokenizer = io::tokenizer_from_json(json, "t");
    std::string ids = tokenizer->name() + str_cat(" ", tokenizer->vocab_size(), ":");
    for (const std::int64_t id : tokenizer->encode("ab a")) ids += str_cat(" ", id);
    return ids;
  };
  for (const char* sample : {"character", "byte", "word"}) {
    const auto made = std::string(sample) == "character"
                          ? std::unique_ptr<io::Tokenizer>(new io::CharTokenizer("ab "))
                      : std::string(sample) == "byte"
                          ? std::unique_ptr<io::Tokenizer>(new io::ByteTokenizer())
                          : std::unique_ptr<io::Tokenizer>(
                                new io::WordTokenizer(io::WordTokenizer::train("ab a ab a", 10)));
    Document base = Document::parse(made->to_json());
    base["more"] = nullptr;
    out += made->to_json() + every_change(base, kValues, "", read);
  }
  check_golden("io/own_tokenizers_changed.txt", out);
}

TEST_CASE("a GGUF file's tokens stand there once each") {
  using Texts = std::vector<std::string>;
  std::map<std::string, io::Fact> facts = {
      {"tokenizer.ggml.model", std::string("gpt2")},
      {"tokenizer.ggml.pre", std::string("gpt-2")},
      {"tokenizer.ggml.tokens", Texts{"a", "a"}},
      {"tokenizer.ggml.token_type", std::vector<std::int64_t>{1, 1}},
      {"tokenizer.ggml.merges", Texts{}}};
  CHECK(refusal([&] { PretrainedTokenizer::of_gguf(facts, "g"); }) ==
        "g: the token \"a\" stands there twice");
  facts["tokenizer.ggml.tokens"] = Texts{"a", "b"};
  CHECK(PretrainedTokenizer::of_gguf(facts, "g").encode("ab b") ==
        std::vector<std::int64_t>{0, 1, 1});
}

TEST_CASE("the tokenizer of a GGUF file with any fact changed") {
  using Facts = std::map<std::string, io::Fact>;
  using Texts = std::vector<std::string>;
  std::string out;
  for (const std::string pre : {"gpt-2", "smollm", "qwen2", "llama-bpe", "other"}) {
    const Facts base = {
        {"tokenizer.ggml.model", std::string("gpt2")},
        {"tokenizer.ggml.pre", pre},
        {"tokenizer.ggml.tokens", Texts{"a", "b", "ab", "<end>", "1", "12", "<x>", "Ã", "©"}},
        {"tokenizer.ggml.token_type", std::vector<std::int64_t>{1, 1, 1, 3, 1, 1, 4, 1, 1}},
        {"tokenizer.ggml.merges", Texts{"a b", "1 1"}},
        {"tokenizer.ggml.bos_token_id", std::int64_t{3}},
        {"tokenizer.ggml.add_bos_token", true}};
    Facts known = base;
    known["tokenizer.ggml.merges"] = Texts{"a b"};
    known["tokenizer.ggml.tokens"] = Texts{"a", "b", "ab", "<end>", "1", "11", "<x>", "Ã", "©"};
    const auto read = [&](const Facts& facts) {
      return outcome_of([&] {
        return ids_of(PretrainedTokenizer::of_gguf(facts, "g"), "abab111<end>1<x>e\u0301");
      });
    };
    out += "== " + pre + ": " + read(known) + "\n" + read(base) + "\n";
    for (const auto& [key, value] : known) {
      Facts changed = known;
      changed.erase(key);
      out += key + " gone: " + read(changed) + "\n";
      for (const io::Fact& other :
           {io::Fact(std::string("x")), io::Fact(false), io::Fact(std::int64_t{-1}),
            io::Fact(std::int64_t{0}), io::Fact(std::int64_t{8}), io::Fact(std::int64_t{9}),
            io::Fact(Texts{}), io::Fact(Texts{"a", "a"}), io::Fact(Texts{"\xff"}),
            io::Fact(std::vector<std::int64_t>{3, 4, 1, 1, 2, 5, 6, 1, 1})}) {
        changed[key] = other;
        out += "  " + io::in_short(shown(other)) + ": " + read(changed) + "\n";
      }
    }
  }
  check_golden("io/gguf_tokenizers.txt", out);
}

}  // namespace gradus::testing
