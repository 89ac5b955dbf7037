#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

// One vector is one register, never more: wider ones are taken apart and spilled. A tile's sums, two vectors of the
// right matrix and a broadcast element of the left fill the register file: 32 registers with AVX-512, 16 else.
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
constexpr std::int64_t kMaxDim = 256;  // the problem's
constexpr std::int64_t kBlock = 64;    // queries, and keys, worked on together
constexpr float kHidden = -1e30F;      // the score of a key that a query does not see
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));
using Bits = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

void store(float* to, Lanes value) { *reinterpret_cast<Unaligned*>(to) = value; }

// exp(x) for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, then a polynomial of degree 6 in r, then 2^n by its bits.
Lanes exp_of(Lanes x) {
    constexpr float least = -87.336544F;  // ln 2^-126: below it the result is no normal number
    const Bits is_tiny = x < least;
    x = is_tiny ? least - Lanes{} : x;
    constexpr float to_nearest = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    const Lanes shifted = x * 1.44269504088896341F + to_nearest;
    const Lanes n = shifted - to_nearest;
    const Lanes r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    Lanes p = r * 1.3888889e-3F + 8.3333333e-3F;
    p = p * r + 4.1666667e-2F;
    p = p * r + 1.6666667e-1F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    const Bits exponent = (__builtin_convertvector(n, Bits) + 127) << 23;
    return is_tiny ? Lanes{} : p * reinterpret_cast<Lanes>(exponent);
}

// The left matrix of a product: where an element lies, by its row and column.
struct Left {
    const float* values;
    std::int64_t row;
    std::int64_t column;
};

// The right matrix, or the product: rows lie `stride` elements apart.
template <class Float>
struct Rowwise {
    Float* values;
    std::int64_t stride;
};

// Rows by kColumns elements of c += a * b, kept in registers over `depth` products. Not inlined: between the loops of
// its callers its pointers would not stay in registers.
template <std::int64_t Rows>
[[gnu::noinline]] void tile(Left a, Rowwise<const float> b, Rowwise<float> c, std::int64_t depth) {
    Lanes sum[Rows][2];
    for (std::int64_t r = 0; r < Rows; ++r) {
        sum[r][0] = load(c.values + r * c.stride);
        sum[r][1] = load(c.values + r * c.stride + kLanes);
    }
    for (std::int64_t p = 0; p < depth; ++p) {
        const Lanes left = load(b.values + p * b.stride);
        const Lanes right = load(b.values + p * b.stride + kLanes);
        for (std::int64_t r = 0; r < Rows; ++r) {
            sum[r][0] += a.values[r * a.row + p * a.column] * left;
            sum[r][1] += a.values[r * a.row + p * a.column] * right;
        }
    }
    for (std::int64_t r = 0; r < Rows; ++r) {
        store(c.values + r * c.stride, sum[r][0]);
        store(c.values + r * c.stride + kLanes, sum[r][1]);
    }
}

// The last rows, fewer than a full tile's.
template <std::int64_t Rows>
void rest(Left a, Rowwise<const float> b, Rowwise<float> c, std::int64_t depth, std::int64_t rows) {
    if (rows == Rows) {
        tile<Rows>(a, b, c, depth);
    } else if constexpr (Rows > 1) {
        rest<Rows - 1>(a, b, c, depth, rows);
    }
}

// c += a * b, where c has `rows` rows and a multiple of kColumns columns.
void multiply_add(Left a, Rowwise<const float> b, Rowwise<float> c, std::int64_t depth, std::int64_t rows,
                  std::int64_t columns) {
    for (std::int64_t j = 0; j < columns; j += kColumns) {
        const Rowwise<const float> right{b.values + j, b.stride};
        Left left = a;
        Rowwise<float> out{c.values + j, c.stride};
        for (std::int64_t i = rows; i >= kRows; i -= kRows) {
            tile<kRows>(left, right, out, depth);
            left.values += kRows * left.row;
            out.values += kRows * out.stride;
        }
        rest<kRows - 1>(left, right, out, depth, rows % kRows);
    }
}

std::int64_t whole_tiles(std::int64_t count) { return (count + kColumns - 1) / kColumns * kColumns; }

struct Head {
    const float* q;
    const float* k;
    const float* v;
    float* y;
    std::int64_t length;
    std::int64_t dim;
    bool is_causal;
};

// Keys [first, first + count) of a head. Values are copied only where a tile would reach beyond them.
struct Keys {
    alignas(64) float padded[kBlock * kMaxDim];
    const float* keys;
    Rowwise<const float> values;
    std::int64_t first;
    std::int64_t count;

    void read(const Head& head, std::int64_t from) {
        first = from;
        count = std::min(kBlock, head.length - first);
        keys = head.k + first * head.dim;
        values = {head.v + first * head.dim, head.dim};
        const std::int64_t width = whole_tiles(head.dim);
        if (width == head.dim) {
            return;
        }
        for (std::int64_t j = 0; j < count; ++j) {
            const float* value = values.values + j * head.dim;
            float* to = padded + j * width;
            std::fill(std::copy(value, value + head.dim, to), to + width, 0.0F);
        }
        values = {padded, width};
    }
};

// Queries [first, first + count), one per lane: their scores against one block of keys, a row per key, and what was
// summed over all blocks so far.
struct Queries {
    alignas(64) float transposed[kMaxDim * kBlock];
    alignas(64) float scores[kBlock * kBlock];
    alignas(64) float sums[kBlock * kMaxDim];  // of values, weighted
    alignas(64) float largest[kBlock];         // score
    alignas(64) float totals[kBlock];          // of weights
    std::int64_t first;
    std::int64_t count;
    std::int64_t width;  // in whole tiles

    void begin(const Head& head, std::int64_t from) {
        first = from;
        count = std::min(kBlock, head.length - first);
        width = whole_tiles(count);
        const float scale = 1 / std::sqrt(static_cast<float>(head.dim));
        std::fill(transposed, transposed + head.dim * kBlock, 0.0F);
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t p = 0; p < head.dim; ++p) {
                transposed[p * kBlock + i] = head.q[(first + i) * head.dim + p] * scale;
            }
        }
        std::fill(sums, sums + count * whole_tiles(head.dim), 0.0F);
        std::fill(largest, largest + kBlock, kHidden);
        std::fill(totals, totals + kBlock, 0.0F);
    }

    void attend(const Head& head, const Keys& keys) {
        std::fill(scores, scores + keys.count * kBlock, 0.0F);
        multiply_add({keys.keys, head.dim, 1}, {transposed, kBlock}, {scores, kBlock}, head.dim, keys.count, width);
        if (head.is_causal) {
            hide(keys);
        }
        const std::int64_t dims = whole_tiles(head.dim);
        for (std::int64_t i = 0; i < width; i += kLanes) {
            weigh(i, keys.count, dims);
        }
        multiply_add({scores, 1, kBlock}, keys.values, {sums, dims}, keys.count, count, dims);
    }

    void finish(const Head& head) const {
        for (std::int64_t i = 0; i < count; ++i) {
            const float factor = 1 / totals[i];
            const float* from = sums + i * whole_tiles(head.dim);
            float* to = head.y + (first + i) * head.dim;
            for (std::int64_t p = 0; p < head.dim; ++p) {
                to[p] = from[p] * factor;
            }
        }
    }

private:
    // A query sees no key behind its own place.
    void hide(const Keys& keys) {
        for (std::int64_t j = 0; j < keys.count; ++j) {
            const std::int64_t hidden = std::clamp(keys.first + j - first, std::int64_t{0}, kBlock);
            std::fill(scores + j * kBlock, scores + j * kBlock + hidden, kHidden);
        }
    }

    // Turns the scores of one vector of queries into weights.
    void weigh(std::int64_t i, std::int64_t keys, std::int64_t dims) {
        const Lanes before = load(largest + i);
        Lanes now = before;
        for (std::int64_t j = 0; j < keys; ++j) {
            const Lanes score = load(scores + j * kBlock + i);
            now = score > now ? score : now;
        }
        const Lanes factor = exp_of(before - now);
        Lanes total = load(totals + i) * factor;
        for (std::int64_t j = 0; j < keys; ++j) {
            const Lanes weight = exp_of(load(scores + j * kBlock + i) - now);
            store(scores + j * kBlock + i, weight);
            total += weight;
        }
        store(largest + i, now);
        store(totals + i, total);
        scale_down(i, factor, dims);
    }

    // A larger maximum makes all weights before it smaller.
    void scale_down(std::int64_t i, Lanes factor, std::int64_t dims) {
        for (std::int64_t lane = 0; lane < std::min(kLanes, count - i); ++lane) {
            float* row = sums + (i + lane) * dims;
            const float scale = factor[lane];
            for (std::int64_t p = 0; p < dims; ++p) {
                row[p] *= scale;
            }
        }
    }
};

}  // namespace

extern "C" void attention(const float* q, const float* k, const float* v, float* y, std::int64_t batch,
                          std::int64_t heads, std::int64_t length, std::int64_t dim, std::int64_t causal) {
    Keys keys;
    Queries queries;
    for (std::int64_t at = 0; at < batch * heads; ++at) {
        const std::int64_t base = at * length * dim;
        const Head head{q + base, k + base, v + base, y + base, length, dim, causal != 0};
        for (std::int64_t i = 0; i < length; i += kBlock) {
            queries.begin(head, i);
            const std::int64_t end = head.is_causal ? i + queries.count : length;
            for (std::int64_t j = 0; j < end; j += kBlock) {
                keys.read(head, j);
                queries.attend(head, keys);
            }
            queries.finish(head);
        }
    }
}
