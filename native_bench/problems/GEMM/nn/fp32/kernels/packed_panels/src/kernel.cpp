#include <algorithm>
#include <cstdint>

namespace {

// One vector is one register, never more: wider ones are taken apart and spilled. A tile's sums, two vectors of b and
// a broadcast element of a fill the register file: 32 registers with AVX-512, 16 else.
#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kRows = 12;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr std::int64_t kLanes = 8;
constexpr std::int64_t kRows = 6;
#else
constexpr std::int64_t kLanes = 4;
constexpr std::int64_t kRows = 4;
#endif
constexpr std::int64_t kColumns = 2 * kLanes;
// A panel of b, kDepth by kColumns, stays in the first-level cache while a block of a, kHeight by kDepth, passes by,
// which itself stays in the second-level cache for all panels. Both lie on the stack.
constexpr std::int64_t kDepth = 6144 / kColumns;
constexpr std::int64_t kHeight = 60;
static_assert(kHeight % kRows == 0);
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

void store(float* to, Lanes value) { *reinterpret_cast<Unaligned*>(to) = value; }

// A part of a matrix, copied so that a tile reads it from front to back; zeros fill it up to whole tiles.
template <std::int64_t Floats>
struct Packed {
    alignas(64) float values[Floats];
    std::int64_t first;
    std::int64_t count;
};

// Rows [first, first + count) of a, kRows side by side.
using Block = Packed<kHeight * kDepth>;
// Columns [first, first + count) of b, at most kColumns.
using Panel = Packed<kDepth * kColumns>;

struct Product {
    const float* a;
    const float* b;
    float* c;
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
    std::int64_t p;  // the slice [p, p + depth) of k that is worked on
    std::int64_t depth;
};

void pack(const Product& x, Block& block) {
    float* to = block.values;
    for (std::int64_t band = 0; band < block.count; band += kRows) {
        const std::int64_t rows = std::min(kRows, block.count - band);
        const float* from = x.a + (block.first + band) * x.k + x.p;
        for (std::int64_t p = 0; p < x.depth; ++p, to += kRows) {
            for (std::int64_t r = 0; r < kRows; ++r) {
                to[r] = r < rows ? from[r * x.k + p] : 0.0F;
            }
        }
    }
}

void pack(const Product& x, Panel& panel) {
    for (std::int64_t p = 0; p < x.depth; ++p) {
        const float* from = x.b + (x.p + p) * x.n + panel.first;
        float* to = panel.values + p * kColumns;
        if (panel.count == kColumns) {
            store(to, load(from));
            store(to + kLanes, load(from + kLanes));
        } else {
            std::fill(std::copy(from, from + panel.count, to), to + kColumns, 0.0F);
        }
    }
}

// The first slice of k sets c, the others add to it.
void add(float* c, Lanes left, Lanes right, bool is_first) {
    store(c, is_first ? left : load(c) + left);
    store(c + kLanes, is_first ? right : load(c + kLanes) + right);
}

// kRows by kColumns elements of c stay in registers while the slice of k runs; `a` is a band of the packed block.
void tile(const Product& x, const float* a, const Panel& panel, std::int64_t i, std::int64_t rows) {
    Lanes sum[kRows][2] = {};
    const float* b = panel.values;
    for (std::int64_t p = 0; p < x.depth; ++p, a += kRows, b += kColumns) {
        const Lanes left = load(b);
        const Lanes right = load(b + kLanes);
        for (std::int64_t r = 0; r < kRows; ++r) {
            sum[r][0] += a[r] * left;
            sum[r][1] += a[r] * right;
        }
    }
    float* c = x.c + i * x.n + panel.first;
    if (rows == kRows && panel.count == kColumns) {
        for (std::int64_t r = 0; r < kRows; ++r) {
            add(c + r * x.n, sum[r][0], sum[r][1], x.p == 0);
        }
        return;
    }
    float edge[kRows][kColumns];
    for (std::int64_t r = 0; r < kRows; ++r) {
        add(edge[r], sum[r][0], sum[r][1], true);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t j = 0; j < panel.count; ++j) {
            c[r * x.n + j] = x.p == 0 ? edge[r][j] : c[r * x.n + j] + edge[r][j];
        }
    }
}

void multiply(const Product& x, const Block& block, Panel& panel) {
    for (panel.first = 0; panel.first < x.n; panel.first += kColumns) {
        panel.count = std::min(kColumns, x.n - panel.first);
        pack(x, panel);
        for (std::int64_t band = 0; band < block.count; band += kRows) {
            const std::int64_t rows = std::min(kRows, block.count - band);
            tile(x, block.values + band * x.depth, panel, block.first + band, rows);
        }
    }
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k) {
    Product x{a, b, c, m, n, k, 0, 0};
    Block block;
    Panel panel;
    for (x.p = 0; x.p < k; x.p += kDepth) {
        x.depth = std::min(kDepth, k - x.p);
        for (block.first = 0; block.first < m; block.first += kHeight) {
            block.count = std::min(kHeight, m - block.first);
            pack(x, block);
            multiply(x, block, panel);
        }
    }
}
