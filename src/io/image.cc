#include "io/image.h"

#include <fmt/format.h>
#include <vips/vips.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "io/memory_bound.h"

namespace oriel::io {
namespace {

struct Unref {
  void operator()(VipsImage* image) const { g_object_unref(image); }
};
using Image = std::unique_ptr<VipsImage, Unref>;

constexpr std::string_view kAllowedImages = "PNG, JPEG, TIFF, WebP";

void ignore_message(const gchar*, GLogLevelFlags, const gchar*, gpointer) {}

// libvips once per process; its warnings would mix with the command's own lines.
void start_vips(const std::string& file) {
  static std::once_flag once;
  static bool started = false;
  std::call_once(once, [] {
    started = VIPS_INIT("oriel") == 0;
    // Decoders run in one thread anyway, and with several an error in the last lines of a JPEG can get lost.
    vips_concurrency_set(1);
    g_log_set_handler("VIPS", static_cast<GLogLevelFlags>(G_LOG_LEVEL_WARNING | G_LOG_LEVEL_INFO | G_LOG_LEVEL_MESSAGE),
                      ignore_message, nullptr);
  });
  if (!started) throw Error(fmt::format("{}: libvips does not start", file));
}

// libvips keeps one text of errors for the whole process. Threads therefore work beside each other only as long as
// nothing fails; what failed, or seemed to because another did, is tried again alone, and that counts.
template <class Work>
auto with_vips(const std::string& file, const Work& work) {
  static std::shared_mutex alone;
  start_vips(file);
  try {
    const std::shared_lock lock(alone);
    return work();
  } catch (const Error&) {  // once more
  }
  const std::unique_lock lock(alone);
  struct Clear {
    Clear() { vips_error_clear(); }
    Clear(const Clear&) = delete;
    Clear& operator=(const Clear&) = delete;
    ~Clear() { vips_error_clear(); }
  };
  const Clear clear;
  return work();
}

// What libvips said last, as one line.
[[noreturn]] void fail(const std::string& file, std::string_view what) {
  std::string text = vips_error_buffer();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.resize(end);
  throw Error(fmt::format("{}: cannot {}: {}", file, what, text.empty() ? "no reason given" : text));
}

[[noreturn]] void refuse(const std::string& file) {
  throw Error(fmt::format("{}: not an image that Oriel reads; allowed: {}, .npy, .npz", file, kAllowedImages));
}

Image load(std::span<const std::byte> bytes, const std::string& file, std::optional<int> page) {
  const char* const loader = vips_foreign_find_load_buffer(bytes.data(), bytes.size());
  const std::string_view found = loader == nullptr ? "" : loader;
  bool allowed = false;
  for (const std::string_view kind :
       {"VipsForeignLoadPng", "VipsForeignLoadJpeg", "VipsForeignLoadTiff", "VipsForeignLoadWebp"})
    allowed = allowed || found.starts_with(kind);
  if (!allowed) refuse(file);
  VipsImage* first = vips_image_new_from_buffer(bytes.data(), bytes.size(), "", "fail_on", VIPS_FAIL_ON_ERROR, nullptr);
  if (first == nullptr) fail(file, "read the image");
  Image image(first);
  const int pages = vips_image_get_n_pages(first);
  if (!page || *page == 1) return image;
  if (*page > pages)
    throw Error(fmt::format("{}: has no image {}; allowed: {}", file, *page,
                            pages == 1 ? "1, the only one" : fmt::format("1 to {}", pages)));
  VipsImage* const other = vips_image_new_from_buffer(bytes.data(), bytes.size(), "", "fail_on", VIPS_FAIL_ON_ERROR,
                                                      "page", *page - 1, nullptr);
  if (other == nullptr) fail(file, "read the image");
  return Image(other);
}

Image upright(const Image& image, const std::string& file) {
  VipsImage* turned = nullptr;
  if (vips_autorot(image.get(), &turned, nullptr) != 0) fail(file, "read the image");
  return Image(turned);
}

// CMYK, Lab and the like become sRGB; grey, RGB and their 16-bit forms stay as they are.
Image plain_colours(Image image, const std::string& file) {
  const VipsInterpretation kind = vips_image_get_interpretation(image.get());
  if (kind != VIPS_INTERPRETATION_CMYK && kind != VIPS_INTERPRETATION_LAB && kind != VIPS_INTERPRETATION_LABQ &&
      kind != VIPS_INTERPRETATION_LABS)
    return image;
  VipsImage* rgb = nullptr;
  if (vips_colourspace(image.get(), &rgb, VIPS_INTERPRETATION_sRGB, nullptr) != 0) fail(file, "read the colours");
  vips_image_remove(rgb, VIPS_META_ICC_NAME);
  return Image(rgb);
}

Dtype dtype_of(const Image& image, const std::string& file) {
  switch (vips_image_get_format(image.get())) {
    case VIPS_FORMAT_UCHAR:
      return Dtype::u8;
    case VIPS_FORMAT_USHORT:
      return Dtype::u16;
    default:
      throw Error(fmt::format("{}: the image holds {}; allowed: 8 or 16 bits without sign", file,
                              vips_enum_nick(VIPS_TYPE_BAND_FORMAT, vips_image_get_format(image.get()))));
  }
}

Picture picture_of(const Image& image, std::optional<int> page) {
  Picture picture{.pixels_per_mm_x = vips_image_get_xres(image.get()),
                  .pixels_per_mm_y = vips_image_get_yres(image.get()),
                  .icc_profile = {},
                  .pages = vips_image_get_n_pages(image.get()),
                  .page = page.value_or(0)};
  const void* data = nullptr;
  std::size_t size = 0;
  if (vips_image_get_typeof(image.get(), VIPS_META_ICC_NAME) != 0 &&
      vips_image_get_blob(image.get(), VIPS_META_ICC_NAME, &data, &size) == 0) {
    const auto* const begin = static_cast<const std::byte*>(data);
    picture.icc_profile.assign(begin, begin + size);
  }
  return picture;
}

// What an image file can hold of `t`.
void check_picture(const std::string& ending, const std::string& file, const ConstTensor& t) {
  const bool deep = ending == ".png" || ending == ".tif" || ending == ".tiff";
  const index_t channels = t.rank() == 3 ? t.shape[2] : 1;
  if (t.dtype != Dtype::u8 && !(t.dtype == Dtype::u16 && deep))
    throw Error(fmt::format("{}: {} holds {}, but the result is {}; allowed for others: .npy, .npz{}", file, ending,
                            deep ? "u8 or u16" : "u8", name(t.dtype), t.dtype == Dtype::u16 ? ", .png, .tiff" : ""));
  if (t.rank() < 2 || t.rank() > 3 || channels < 1 || channels > 4)
    throw Error(fmt::format("{}: an image must have the shape HxW or HxWxC with C from 1 to 4, but the result has {}",
                            file, to_string(t.shape)));
  if ((ending == ".jpg" || ending == ".jpeg") && channels % 2 == 0)
    throw Error(fmt::format("{}: JPEG has no alpha, but the result has {} channels; allowed: .png, .tiff, .webp", file,
                            channels));
  for (int i = 0; i < 2; ++i)
    if (t.shape[i] < 1 || t.shape[i] > VIPS_MAX_COORD)
      throw Error(fmt::format("{}: the image has the shape {}; allowed: sides from 1 to {}", file, to_string(t.shape),
                              VIPS_MAX_COORD));
}

const char* save_options(const std::string& ending) {
  if (ending == ".jpg" || ending == ".jpeg") return ".jpg[Q=95]";
  if (ending == ".webp") return ".webp[lossless=true]";
  if (ending == ".png") return ".png";
  return ".tif[compression=deflate,predictor=horizontal]";
}

Array decode(std::span<const std::byte> bytes, const std::string& file, const PictureAsked& asked) {
  const Image image = plain_colours(upright(load(bytes, file, asked.page), file), file);
  const Dtype held = dtype_of(image, file);
  if (asked.dtype && *asked.dtype != held)
    throw Error(fmt::format("{}: the image holds {}, but {} was requested; allowed: {}", file, name(held),
                            name(*asked.dtype), name(held)));
  const index_t area = index_t{vips_image_get_width(image.get())} * vips_image_get_height(image.get());
  if (asked.most_pixels > 0 && area > asked.most_pixels)
    throw Error(fmt::format("{}: the image has {}x{} pixels, {} million; allowed: at most {} million", file,
                            vips_image_get_width(image.get()), vips_image_get_height(image.get()), area / 1'000'000,
                            asked.most_pixels / 1'000'000));
  // libvips decodes up to 100 MB of it in memory before it gives pixels, and more in a file of its own.
  constexpr index_t decoded_in_memory = 100'000'000;
  const auto decoded = static_cast<index_t>(VIPS_IMAGE_SIZEOF_IMAGE(image.get()));
  check_memory(
      file,
      fmt::format("the image of {}x{} pixels", vips_image_get_width(image.get()), vips_image_get_height(image.get())),
      decoded + std::min(decoded, decoded_in_memory) + static_cast<index_t>(bytes.size()));
  std::size_t size = 0;
  void* const pixels = vips_image_write_to_memory(image.get(), &size);
  const bool complained = *vips_error_buffer() != '\0';  // an error that no return value told of
  if (pixels == nullptr || complained) {
    g_free(pixels);
    fail(file, "read the image");
  }
  std::shared_ptr<const void> memory(pixels, [](const void* p) { g_free(const_cast<void*>(p)); });
  Extents shape = {vips_image_get_height(image.get()), vips_image_get_width(image.get())};
  const int channels = vips_image_get_bands(image.get());
  if (channels > 1) shape.push_back(channels);
  return {ConstTensor(pixels, held, shape), std::move(memory), picture_of(image, asked.page)};
}

Array render(const std::string& text, const std::string& font, int width, const std::string& file) {
  using Text = std::unique_ptr<gchar, decltype(&g_free)>;
  const Text valid(g_utf8_make_valid(text.data(), static_cast<gssize>(text.size())), &g_free);
  const Text plain(g_markup_escape_text(valid.get(), -1), &g_free);
  VipsImage* drawn = nullptr;
  if (vips_text(&drawn, plain.get(), "font", font.c_str(), "width", width, "dpi", 72, nullptr) != 0)
    fail(file, "draw text");
  const Image image(drawn);
  std::size_t size = 0;
  void* const pixels = vips_image_write_to_memory(drawn, &size);
  if (pixels == nullptr) fail(file, "draw text");
  std::shared_ptr<const void> memory(pixels, [](const void* p) { g_free(const_cast<void*>(p)); });
  const Extents shape = {vips_image_get_height(drawn), vips_image_get_width(drawn)};
  return {ConstTensor(pixels, Dtype::u8, shape), std::move(memory), std::nullopt};
}

using Bytes = std::unique_ptr<void, decltype(&g_free)>;

std::pair<Bytes, std::size_t> encode(const std::string& ending, const std::string& file, const ConstTensor& t,
                                     const std::optional<Picture>& picture) {
  const Array whole = dense(t);
  const int channels = t.rank() == 3 ? static_cast<int>(t.shape[2]) : 1;
  const bool deep = t.dtype == Dtype::u16;
  const Image raw(vips_image_new_from_memory(whole.view.data,
                                             static_cast<std::size_t>(element_count(t.shape) * size_bytes(t.dtype)),
                                             static_cast<int>(t.shape[1]), static_cast<int>(t.shape[0]), channels,
                                             deep ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR));
  if (!raw) fail(file, "write the image");
  const VipsInterpretation grey = deep ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_B_W;
  const VipsInterpretation colour = deep ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB;
  VipsImage* named = nullptr;
  if (vips_copy(raw.get(), &named, "interpretation", channels < 3 ? grey : colour, nullptr) != 0)
    fail(file, "write the image");
  const Image image(named);
  if (picture && picture->pixels_per_mm_x > 0 && picture->pixels_per_mm_y > 0) {
    named->Xres = picture->pixels_per_mm_x;
    named->Yres = picture->pixels_per_mm_y;
  }
  if (picture && !picture->icc_profile.empty())
    vips_image_set_blob_copy(named, VIPS_META_ICC_NAME, picture->icc_profile.data(), picture->icc_profile.size());
  void* data = nullptr;
  std::size_t size = 0;
  if (vips_image_write_to_buffer(named, save_options(ending), &data, &size, nullptr) != 0)
    fail(file, "write the image");
  return {Bytes(data, &g_free), size};
}

}  // namespace

Array read_image(std::span<const std::byte> bytes, const std::string& file, const PictureAsked& asked) {
  return with_vips(file, [&] { return decode(bytes, file, asked); });
}

std::string pages_note(const Picture& picture, const std::string& path) {
  if (picture.pages <= 1 || picture.page > 0) return "";
  const std::string other = path == "-" ? "" : fmt::format(" ({}:2 is the second)", path);
  return fmt::format("the first of {} images in the file was used{}", picture.pages, other);
}

bool is_image(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  using namespace std::string_view_literals;
  for (const std::string_view magic :
       {"\x89PNG\r\n\x1a\n"sv, "\xff\xd8\xff"sv, "II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv})
    if (text.starts_with(magic)) return true;
  constexpr std::size_t kind = 8;  // after the file's length
  return text.starts_with("RIFF") && text.substr(std::min(kind, text.size())).starts_with("WEBP");
}

void check_image_head(std::span<const std::byte> head, const std::string& file) {
  if (!is_image(head)) refuse(file);
}

Array draw_text(const std::string& text, const std::string& font, int width, const std::string& file) {
  return with_vips(file, [&] { return render(text, font, width, file); });
}

void write_image(const WriteBytes& write, const std::string& ending, const std::string& file, const ConstTensor& t,
                 const std::optional<Picture>& picture) {
  check_picture(ending, file, t);
  const auto [bytes, size] = with_vips(file, [&] { return encode(ending, file, t, picture); });
  write(bytes.get(), size);
}

}  // namespace oriel::io
