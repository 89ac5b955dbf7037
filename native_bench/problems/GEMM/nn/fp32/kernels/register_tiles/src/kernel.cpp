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
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

void store(float* to, Lanes value) { *reinterpret_cast<Unaligned*>(to) = value; }

struct Matrices {
    const float* a;
    const float* b;
    float* c;
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
};

// `Rows` rows of c by `Vectors` vectors of columns, kept in registers while k runs.
template <std::int64_t Rows, std::int64_t Vectors>
void tile(const Matrices& x, std::int64_t i, std::int64_t j) {
    Lanes sum[Rows][Vectors] = {};
    const float* a = x.a + i * x.k;
    const float* b = x.b + j;
    for (std::int64_t p = 0; p < x.k; ++p) {
        Lanes row[Vectors];
        for (std::int64_t v = 0; v < Vectors; ++v) {
            row[v] = load(b + p * x.n + v * kLanes);
        }
        for (std::int64_t r = 0; r < Rows; ++r) {
            for (std::int64_t v = 0; v < Vectors; ++v) {
                sum[r][v] += a[r * x.k + p] * row[v];
            }
        }
    }
    for (std::int64_t r = 0; r < Rows; ++r) {
        for (std::int64_t v = 0; v < Vectors; ++v) {
            store(x.c + (i + r) * x.n + j + v * kLanes, sum[r][v]);
        }
    }
}

template <std::int64_t Rows>
void column(const Matrices& x, std::int64_t i, std::int64_t j) {
    float sum[Rows] = {};
    for (std::int64_t p = 0; p < x.k; ++p) {
        for (std::int64_t r = 0; r < Rows; ++r) {
            sum[r] += x.a[(i + r) * x.k + p] * x.b[p * x.n + j];
        }
    }
    for (std::int64_t r = 0; r < Rows; ++r) {
        x.c[(i + r) * x.n + j] = sum[r];
    }
}

// The last tile ends with the last column: it computes some columns a second time, to the same values.
template <std::int64_t Rows>
void band(const Matrices& x, std::int64_t i) {
    std::int64_t j = 0;
    for (; j + 2 * kLanes <= x.n; j += 2 * kLanes) {
        tile<Rows, 2>(x, i, j);
    }
    for (; j + kLanes <= x.n; j += kLanes) {
        tile<Rows, 1>(x, i, j);
    }
    if (j < x.n && x.n >= kLanes) {
        tile<Rows, 1>(x, i, x.n - kLanes);
        return;
    }
    for (; j < x.n; ++j) {
        column<Rows>(x, i, j);
    }
}

// The last rows, fewer than a full band's.
template <std::int64_t Rows>
void rest(const Matrices& x, std::int64_t i) {
    if (x.m - i == Rows) {
        band<Rows>(x, i);
    } else if constexpr (Rows > 1) {
        rest<Rows - 1>(x, i);
    }
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k) {
    const Matrices x{a, b, c, m, n, k};
    std::int64_t i = 0;
    for (; i + kRows <= m; i += kRows) {
        band<kRows>(x, i);
    }
    rest<kRows - 1>(x, i);
}
