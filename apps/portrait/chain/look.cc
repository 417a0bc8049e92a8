#include "apps/portrait/chain/look.h"

#include <algorithm>

#include "cli/stopwatch.h"

namespace oriel::portrait {

index_t Look::channels() const {
  if (only_mask) return 1;
  return background.kind == Background::Kind::transparent ? 4 : 3;
}

Finished finish(const Image& image, const Planes& mask, const Look& look, const Planes& opacity, const Image* guide) {
  const int threads = look.chain.threads;
  cli::Stopwatch watch;
  Cut person = cut(guide != nullptr ? *guide : image, mask, look.chain);
  Finished done{.person = person.person, .matte = watch.seconds()};
  if (!person.person.found) {
    if (look.no_person == NoPerson::fail) return done;
    if (look.no_person == NoPerson::keep) std::fill(person.alpha.values.begin(), person.alpha.values.end(), 1.0F);
  }
  if (opacity.area() > 0 && person.shares.area() == 0) person.shares = person.alpha;
  for (std::size_t i = 0; i < opacity.values.size(); ++i) person.alpha.values[i] *= opacity.values[i];
  if (look.only_mask)
    done.picture = mask_of(person, threads);
  else if (look.background.kind == Background::Kind::transparent)
    done.picture = transparent(image, person, threads);
  else
    done.picture = compose(image, person, render(look.background, image, person.alpha, threads), look.blend, threads);
  done.compose = watch.seconds();
  return done;
}

}  // namespace oriel::portrait
