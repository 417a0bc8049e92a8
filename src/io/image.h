// Images as tensors of height x width x channels, by libvips.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "io/array.h"

namespace oriel::io {

/// The picture in `bytes` (PNG, JPEG, TIFF or WebP): u8 or u16, shape HxW for grey, HxWxC for grey with alpha (2), RGB
/// (3) or RGB with alpha (4). Turned upright as its EXIF orientation says; palettes, CMYK and Lab become RGB; of a
/// TIFF with several pages, and of an animation, the first. More than `most_pixels` (0: any number), and what needs
/// more than memory_bound, are refused before they are decoded. Throws Error naming `file`.
Array read_image(std::span<const std::byte> bytes, const std::string& file, std::optional<Dtype> dtype = std::nullopt,
                 index_t most_pixels = 0);

/// Throws Error naming `file` when its first bytes (kFormatBytes, or all that there are) are not those of a PNG, JPEG,
/// TIFF or WebP.
void check_image_head(std::span<const std::byte> head, const std::string& file);

/// `t` as a picture in the format of `ending`, e.g. `.png`, keeping its depth: PNG and TIFF hold u8 and u16, JPEG and
/// WebP u8; JPEG no alpha. PNG, TIFF and WebP lose nothing; JPEG is written with quality 95. Throws Error.
void write_image(const WriteBytes& write, const std::string& ending, const std::string& file, const ConstTensor& t,
                 const std::optional<Picture>& picture = std::nullopt);

}  // namespace oriel::io
