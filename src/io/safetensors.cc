#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "core/check.h"
#include "core/text.h"
#include "io/input_file.h"
#include "io/safetensors_header.h"
#include "qkv/io.h"

namespace qkv::io {
namespace {

// Files are little-endian, and numbers are copied as they are.
static_assert(std::endian::native == std::endian::little);

// The first bytes, for a file that is something else: an HTML page, say.
std::string begins_with(const InputFile& file) {
  std::string start(kLengthBytes, '\0');
  file.read(0, start.data(), kLengthBytes);
  return quote(start);
}

std::string read_header_text(const InputFile& file) {
  if (file.size() < kLengthBytes)
    fail_input(
        "{}: header too small: the file has {} bytes, a safetensors "
        "file at least {}",
        file.path(), file.size(), kLengthBytes);
  std::uint64_t length;
  file.read(0, &length, kLengthBytes);
  if (length > static_cast<std::uint64_t>(kMaxHeaderBytes))
    fail_input(
        "{}: header too large: {} bytes, at most {}; no safetensors "
        "file: it begins with {}",
        file.path(), length, kMaxHeaderBytes, begins_with(file));
  const auto bytes = static_cast<std::int64_t>(length);
  if (bytes > file.size() - kLengthBytes)
    fail_input(
        "{}: invalid header length: {} bytes, but the file ends after "
        "{}",
        file.path(), bytes, file.size() - kLengthBytes);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  file.read(kLengthBytes, text.data(), bytes);
  return text;
}

// Takes the checksums out of the metadata; tensor name to checksum.
std::unordered_map<std::string, std::string> take_checksums(
    Header& header, const std::string& path) {
  std::unordered_map<std::string, std::string> checksums;
  const bool any = std::any_of(
      header.metadata.begin(), header.metadata.end(),
      [](auto& item) { return item.first.starts_with(kChecksumKey); });
  if (!any) return checksums;
  const auto own = header.metadata.find(std::string(kChecksumKey));
  if (own == header.metadata.end() || own->second != header_checksum(header))
    fail_input(
        "{}: the header does not match its checksum: the file was "
        "damaged or changed",
        path);
  header.metadata.erase(own);
  for (const TensorEntry& entry : header.entries) {
    const auto item = header.metadata.find(checksum_key(entry.name));
    if (item == header.metadata.end())
      fail_input("{}: tensor {} has no checksum", path, quote(entry.name));
    checksums.emplace(entry.name, std::move(item->second));
    header.metadata.erase(item);
  }
  return checksums;
}

void check_booleans(const Tensor& tensor, const std::string& path,
                    const std::string& name) {
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.raw());
  const std::int64_t n = tensor.numel();
  const auto bad = std::find_if(bytes, bytes + n, [](auto b) { return b > 1; });
  if (bad != bytes + n)
    fail_input("{}: tensor {}: BOOL is 0 or 1, but element {} is {}", path,
               quote(name), bad - bytes, *bad);
}

}  // namespace

struct SafetensorsFile::State {
  InputFile file;
  Header header;
  std::int64_t data_begin = 0;
  std::unordered_map<std::string, std::string> checksums;
  std::vector<std::int32_t> by_name;  // indices into entries

  explicit State(const std::string& path) : file(path) {
    {
      const std::string text = read_header_text(file);
      data_begin = kLengthBytes + static_cast<std::int64_t>(text.size());
      header = parse_header(text, file.size() - data_begin, path);
    }
    checksums = take_checksums(header, path);
    by_name.resize(header.entries.size());
    std::iota(by_name.begin(), by_name.end(), 0);
    std::sort(by_name.begin(), by_name.end(), [&](auto a, auto b) {
      return header.entries[a].name < header.entries[b].name;
    });
  }

  const TensorEntry& entry(std::string_view name,
                           const SafetensorsFile& self) const {
    const TensorEntry* found = self.find(name);
    if (!found) fail_input("{}: no tensor {}", file.path(), quote(name));
    return *found;
  }

  void read(const TensorEntry& entry, Tensor& target) const {
    file.read(data_begin + entry.begin, target.raw(), entry.end - entry.begin);
    if (entry.dtype == DType::boolean)
      check_booleans(target, file.path(), entry.name);
    const auto expected = checksums.find(entry.name);
    if (expected != checksums.end() && expected->second != checksum(target))
      fail_input(
          "{}: tensor {} does not match its checksum: the file was "
          "damaged",
          file.path(), quote(entry.name));
  }
};

SafetensorsFile::SafetensorsFile(const std::string& path)
    : state_(std::make_unique<State>(path)) {}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept =
    default;

const std::string& SafetensorsFile::path() const { return state_->file.path(); }
const Metadata& SafetensorsFile::metadata() const {
  return state_->header.metadata;
}
bool SafetensorsFile::has_checksums() const {
  return !state_->checksums.empty();
}
const std::vector<TensorEntry>& SafetensorsFile::entries() const {
  return state_->header.entries;
}

const TensorEntry* SafetensorsFile::find(std::string_view name) const {
  const auto& entries = state_->header.entries;
  const auto& by_name = state_->by_name;
  const auto found = std::lower_bound(
      by_name.begin(), by_name.end(), name,
      [&](auto i, std::string_view n) { return entries[i].name < n; });
  if (found == by_name.end() || entries[*found].name != name) return nullptr;
  return &entries[*found];
}

Tensor SafetensorsFile::read(std::string_view name) const {
  const TensorEntry& entry = state_->entry(name, *this);
  if (!entry.dtype)
    fail_input("{}: tensor {} is {}: unsupported", path(), quote(name),
               entry.stored);
  Tensor tensor = Tensor::empty(entry.shape, *entry.dtype);
  state_->read(entry, tensor);
  return tensor;
}

void SafetensorsFile::read_into(std::string_view name, Tensor& target) const {
  const TensorEntry& entry = state_->entry(name, *this);
  if (entry.dtype != target.dtype() || entry.shape != target.shape())
    fail_input("{}: tensor {} is {} {}, wanted {} {}", path(), quote(name),
               entry.stored, entry.shape.str(), stored_name(target.dtype()),
               target.shape().str());
  if (!target.contiguous())
    fail_internal("[read_into] the target of {} is not contiguous", name);
  state_->read(entry, target);
}

void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const Metadata& metadata,
                       const SafetensorsOptions& options) {
  std::vector<const NamedTensors::value_type*> order;
  order.reserve(tensors.size());
  for (const auto& item : tensors) {
    check_tensor_name(item.first, path);
    if (item.first == "__metadata__")
      fail_input("{}: no tensor can be named __metadata__", path);
    if (!item.second.defined())
      fail_input("{}: tensor {} is undefined", path, quote(item.first));
    order.push_back(&item);
  }
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    const int rank_a = stored_rank(a->second.dtype());
    const int rank_b = stored_rank(b->second.dtype());
    return rank_a != rank_b ? rank_a > rank_b : a->first < b->first;
  });

  Header header{.metadata = metadata, .entries = {}};
  for (const auto& [key, value] : metadata)
    if (key.starts_with(kChecksumKey))
      fail_input("{}: metadata {}: the names that begin with {} are reserved",
                 path, quote(key), kChecksumKey);
  std::int64_t offset = 0;
  for (const auto* item : order) {
    const auto& [name, tensor] = *item;
    const std::int64_t bytes = checked_multiply(
        tensor.numel(), static_cast<std::int64_t>(size_of(tensor.dtype())));
    header.entries.push_back({.name = name,
                              .stored = stored_name(tensor.dtype()),
                              .dtype = tensor.dtype(),
                              .shape = tensor.shape(),
                              .begin = offset,
                              .end = offset + bytes});
    offset += bytes;
  }
  refuse_duplicates(header.entries, path);
  if (options.checksums) {
    for (const auto* item : order)
      header.metadata[checksum_key(item->first)] = checksum(item->second);
    header.metadata[std::string(kChecksumKey)] = header_checksum(header);
  }
  const std::string text = format_header(header, path);

  AtomicFile file(path);
  const std::uint64_t length = text.size();
  file.write(&length, kLengthBytes);
  file.write(text);
  for (const auto* item : order) {
    const Tensor& tensor = item->second;
    const Tensor x = tensor.contiguous() ? tensor : tensor.clone();
    file.write(x.raw(),
               static_cast<std::size_t>(x.numel()) * size_of(x.dtype()));
  }
  file.commit();
}

}  // namespace qkv::io
