// Images as tensors of height x width x channels, by libvips.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "io/array.h"
#include "io/bytes.h"

namespace oriel::io {

/// What a picture is to be.
struct PictureAsked {
  std::optional<Dtype> dtype{};  ///< that it must hold
  index_t most_pixels = 0;       ///< more are refused before they are decoded; 0: any number
  std::optional<int> page{};     ///< of a TIFF with several pages or an animated WebP, counted from 1; none: the first
};

/// The picture in `bytes` (PNG, JPEG, TIFF or WebP): u8 or u16, shape HxW for grey, HxWxC for grey with alpha (2), RGB
/// (3) or RGB with alpha (4). Turned upright as its EXIF orientation says; palettes, CMYK and Lab become RGB. What
/// needs more than memory_bound is refused before it is decoded. Throws Error naming `file`.
Array read_image(std::span<const std::byte> bytes, const std::string& file, const PictureAsked& asked = {});

/// What to tell of a file with several pictures if none was named: `the first of 3 images in the file was used`.
/// Else empty. `path` is the file as it was given.
std::string pages_note(const Picture& picture, const std::string& path);

/// Whether bytes begin as those of a PNG, JPEG, TIFF or WebP do; the first kFormatBytes are enough.
bool is_image(std::span<const std::byte> bytes);

/// Throws Error naming `file` if they do not.
void check_image_head(std::span<const std::byte> head, const std::string& file);

/// `text` as a mask, u8 of height x width: 255 in letters. `font` is a name of Pango's, e.g. `sans bold 13`, its size
/// in pixels; lines are broken at words to be at most `width` pixels long. Throws Error naming `file`, e.g. if there is
/// no font.
Array draw_text(const std::string& text, const std::string& font, int width, const std::string& file);

/// `t` as a picture in the format of `ending`, e.g. `.png`, keeping its depth: PNG and TIFF hold u8 and u16, JPEG and
/// WebP u8; JPEG no alpha. PNG, TIFF and WebP lose nothing; JPEG is written with quality 95. Throws Error.
void write_image(const WriteBytes& write, const std::string& ending, const std::string& file, const ConstTensor& t,
                 const std::optional<Picture>& picture = std::nullopt);

}  // namespace oriel::io
