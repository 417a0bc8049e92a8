#include "cpu/simd/targets.h"

#include <atomic>
#include <cctype>
#include <cstdlib>

#include "cpu/disjoint/gradient_kernels.h"
#include "cpu/code_gradient/gather_kernels.h"
#include "cpu/argmax/register_kernels.h"
#include "cpu/lifted/lifted_rows.h"
#include "cpu/exact/exact_kernels.h"
#include "cpu/recipe/kernels.h"
#include "cpu/channels/channel_rows.h"
#include "cpu/box_gradient/overlap_kernels.h"
#include "cpu/planes/plane_kernels.h"
#include "cpu/sliding/running_kernels.h"
#include "cpu/masked/masked_kernels.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hwy/highway.h"
#include "quoted.h"

namespace oriel::cpu {
namespace {

std::string lower_case(std::string_view text) {
  std::string s(text);
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

struct Tables {
  std::vector<KernelTable> rows;
  std::vector<ElementTable> elements;  // of the same instruction sets
  std::vector<PlaneTable> planes;
  std::vector<LaneRowTable> lane_rows;
  std::vector<StackTable> stacks;
  std::vector<ApartTable> aparts;
  std::vector<OverlapTable> overlaps;
  std::vector<CodeTable> codes;
  std::vector<CodeGatherTable> code_gathers;
  std::vector<RunningTable> runnings;
  std::vector<ExactTable> exacts;
};

Tables all_tables() {
  Tables tables;
  // A lower bit is a better target.
  for (std::int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    hwy::ChosenTarget chosen;
    chosen.Update(rest & -rest);
    // A build for one target has tables of one entry.
    const std::size_t which = (HWY_TARGETS & (HWY_TARGETS - 1)) == 0 ? 0 : chosen.GetIndex();
    KernelTable table;
    fill_extremum(table, which);
    fill_sum(table, which);
    fill_arg(table, which);
    fill_convert(table, which);
    fill_lower(table, which);
    fill_pick(table, which);
    fill_shares(table, which);
    fill_places(table, which);
    fill_gather(table, which);
    fill_long_extremum(table, which);
    fill_long_sum(table, which);
    fill_global(table, which);
    tables.rows.push_back(table);
    ElementTable& elements = tables.elements.emplace_back();
    fill_extremum_elements(elements, which);
    fill_sum_elements(elements, which);
    fill_transpose(elements, which);
    PlaneTable planes;
    fill_plane_max(planes, which);
    fill_plane_min(planes, which);
    fill_plane_sum(planes, which);
    fill_plane_narrow(planes, which);
    tables.planes.push_back(planes);
    LaneRowTable& lane_rows = tables.lane_rows.emplace_back();
    fill_lane_rows_extremum(lane_rows, which);
    fill_lane_rows_sum(lane_rows, which);
    StackTable& stacks = tables.stacks.emplace_back();
    fill_stack_extremum(stacks, which);
    fill_stack_sum(stacks, which);
    fill_apart(tables.aparts.emplace_back(), which);
    fill_overlap(tables.overlaps.emplace_back(), which);
    fill_codes(tables.codes.emplace_back(), which);
    fill_code_gather(tables.code_gathers.emplace_back(), which);
    fill_running(tables.runnings.emplace_back(), which);
    fill_exact(tables.exacts.emplace_back(), which);
  }
  return tables;
}

const Tables& all() {
  static const Tables tables = all_tables();
  return tables;
}
const std::vector<KernelTable>& tables() { return all().rows; }

std::atomic<const KernelTable*> active{nullptr};

const KernelTable* find(std::string_view name, const char* what) {
  if (name.empty()) return &tables().front();
  for (const KernelTable& t : tables()) {
    if (lower_case(t.target) == lower_case(name)) return &t;
  }
  throw Error(fmt::format("{}: {} is no instruction set that runs here; allowed: {}", what, detail::quoted(name),
                          fmt::join(supported_targets(), ", ")));
}

}  // namespace

std::vector<std::string> supported_targets() {
  std::vector<std::string> names;
  for (const KernelTable& t : tables()) names.emplace_back(t.target);
  return names;
}

std::string active_target() { return kernels().target; }

void set_target(std::string_view name) { active = find(name, "set_target"); }

const KernelTable& kernels() {
  const KernelTable* table = active.load(std::memory_order_acquire);
  if (table == nullptr) {
    const char* wanted = std::getenv("ORIEL_TARGET");
    table = find(wanted == nullptr ? "" : wanted, "ORIEL_TARGET");
    const KernelTable* unset = nullptr;
    if (!active.compare_exchange_strong(unset, table)) table = unset;  // set_target came first
  }
  return *table;
}

namespace {
std::size_t active_number() { return static_cast<std::size_t>(&kernels() - tables().data()); }
}  // namespace

const ElementTable& element_table() { return all().elements[active_number()]; }
const PlaneTable& plane_kernels() { return all().planes[active_number()]; }
const LaneRowTable& lane_row_kernels() { return all().lane_rows[active_number()]; }
const ApartTable& apart_table() { return all().aparts[active_number()]; }

const CodeGatherTable& code_gather_table() { return all().code_gathers[active_number()]; }
const CodeTable& code_table() { return all().codes[active_number()]; }
const ExactTable& exact_table() { return all().exacts[active_number()]; }
const OverlapTable& overlap_table() { return all().overlaps[active_number()]; }
const RunningTable& running_table() { return all().runnings[active_number()]; }
const StackTable& stack_kernels() { return all().stacks[active_number()]; }

index_t size_bytes(Lane lane) {
  switch (lane) {
    case Lane::u8:
    case Lane::i8:
      return 1;
    case Lane::u16:
    case Lane::i16:
      return 2;
    case Lane::u32:
    case Lane::i32:
    case Lane::f32:
      return 4;
    default:
      return 8;
  }
}

}  // namespace oriel::cpu
