#include <cstdint>
#include <cstring>

namespace {

constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kRows = 8;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

Lanes load(const float* from) {
    Lanes value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

struct Matrices {
    const float* a;
    const float* b;
    float* c;
    std::int64_t n;
    std::int64_t k;
};

// `Rows` rows of c by `Vectors` vectors of columns, kept in registers while k runs.
template <std::int64_t Rows, std::int64_t Vectors>
void tile(const Matrices& x, std::int64_t i, std::int64_t j) {
    Lanes sum[Rows][Vectors] = {};
    for (std::int64_t p = 0; p < x.k; ++p) {
        Lanes row[Vectors];
        for (std::int64_t v = 0; v < Vectors; ++v) {
            row[v] = load(x.b + p * x.n + j + v * kLanes);
        }
        for (std::int64_t r = 0; r < Rows; ++r) {
            const float factor = x.a[(i + r) * x.k + p];
            for (std::int64_t v = 0; v < Vectors; ++v) {
                sum[r][v] += factor * row[v];
            }
        }
    }
    for (std::int64_t r = 0; r < Rows; ++r) {
        std::memcpy(x.c + (i + r) * x.n + j, sum[r], sizeof sum[r]);
    }
}

template <std::int64_t Rows>
void band(const Matrices& x, std::int64_t i) {
    std::int64_t j = 0;
    for (; j + 2 * kLanes <= x.n; j += 2 * kLanes) {
        tile<Rows, 2>(x, i, j);
    }
    for (; j + kLanes <= x.n; j += kLanes) {
        tile<Rows, 1>(x, i, j);
    }
    for (; j < x.n; ++j) {
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
}

}  // namespace

extern "C" void gemm(const float* a, const float* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k) {
    const Matrices x{a, b, c, n, k};
    std::int64_t i = 0;
    for (; i + kRows <= m; i += kRows) {
        band<kRows>(x, i);
    }
    for (; i < m; ++i) {
        band<1>(x, i);
    }
}
