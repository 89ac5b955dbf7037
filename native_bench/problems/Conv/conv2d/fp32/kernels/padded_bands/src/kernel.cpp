#include <algorithm>
#include <cstdint>

namespace {

// One vector is one register, never more: wider ones are taken apart and spilled. A tile's sums, two vectors of x and
// a broadcast element of f fill the register file: 32 registers with AVX-512, 16 else.
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
// The problem's largest filter and stride; the output is worked on in parts of so many rows and columns.
constexpr std::int64_t kMaxFilter = 31;
constexpr std::int64_t kMaxStride = 16;
constexpr std::int64_t kHeight = 4;
constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kBandFloats = ((kHeight - 1) * kMaxStride + kMaxFilter) * kMaxStride * (kWidth + 2);
constexpr std::int64_t kCachedFloats = 16384;  // a band of several channels stays in the second-level cache
constexpr std::int64_t kTaps = 1024;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Unaligned = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));

Lanes load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }

void store(float* to, Lanes value) { *reinterpret_cast<Unaligned*>(to) = value; }

struct Convolution {
    const float* x;
    const float* f;
    float* y;
    std::int64_t c, h, w, oc, kh, kw, stride_h, stride_w, pad_h, pad_w, oh, ow;
};

// A part of one image's output, and the input channels that are worked on.
struct Part {
    const float* image;
    float* out;
    std::int64_t row, rows;
    std::int64_t column, columns;
    std::int64_t channel, channels;
};

// Inlined where the stride is a constant, so that the compiler vectorises it.
inline void copy(const float* __restrict from, float* __restrict to, std::int64_t begin, std::int64_t end,
                 std::int64_t stride) {
    for (std::int64_t q = begin; q < end; ++q) {
        to[q] = from[q * stride];
    }
}

// The input behind a part, zeros where the padding lies. Columns are sorted by their place within a stride, so that
// what a tap of the filter meets at neighbouring output columns lies side by side.
struct Band {
    alignas(64) float values[kBandFloats];
    std::int32_t offsets[kTaps];  // where each tap's first element lies, for the part's first row
    std::int64_t lines;           // input rows per channel
    std::int64_t phases;          // columns of a stride that taps meet
    std::int64_t span;            // elements per line and phase

    void shape_for(const Convolution& conv, const Part& part) {
        const std::int64_t whole = (part.columns + kLanes - 1) / kLanes * kLanes;
        lines = (part.rows - 1) * conv.stride_h + conv.kh;
        phases = std::min(conv.stride_w, conv.kw);
        span = whole + (conv.kw - 1) / conv.stride_w;
    }

    // Returns how many channels to work on together: as many as fit, in shares of about the same size.
    std::int64_t share_of_channels(const Convolution& conv) const {
        const std::int64_t cached = kCachedFloats / (lines * phases * span);
        const std::int64_t most = std::max(std::int64_t{1}, std::min(cached, kTaps / (conv.kh * conv.kw)));
        const std::int64_t shares = (conv.c + most - 1) / most;
        return (conv.c + shares - 1) / shares;
    }

    void list_taps(const Convolution& conv, std::int64_t channels) {
        std::int32_t* offset = offsets;
        for (std::int64_t channel = 0; channel < channels; ++channel) {
            for (std::int64_t i = 0; i < conv.kh; ++i) {
                for (std::int64_t j = 0; j < conv.kw; ++j) {
                    const std::int64_t line = (channel * lines + i) * phases + j % conv.stride_w;
                    *offset++ = static_cast<std::int32_t>(line * span + j / conv.stride_w);
                }
            }
        }
    }

    void fill(const Convolution& conv, const Part& part) {
        float* to = values;
        for (std::int64_t channel = part.channel; channel < part.channel + part.channels; ++channel) {
            for (std::int64_t line = 0; line < lines; ++line, to += phases * span) {
                const std::int64_t row = part.row * conv.stride_h + line - conv.pad_h;
                if (row < 0 || row >= conv.h) {
                    std::fill(to, to + phases * span, 0.0F);
                } else {
                    fill_line(conv, part, part.image + (channel * conv.h + row) * conv.w, to);
                }
            }
        }
    }

private:
    void fill_line(const Convolution& conv, const Part& part, const float* from, float* to) const {
        const std::int64_t stride = conv.stride_w;
        for (std::int64_t phase = 0; phase < phases; ++phase, to += span) {
            const std::int64_t first = part.column * stride + phase - conv.pad_w;
            const std::int64_t begin = first < 0 ? std::min(span, (stride - 1 - first) / stride) : 0;
            const std::int64_t beyond = first < conv.w ? (conv.w - 1 - first) / stride + 1 : 0;
            const std::int64_t end = std::max(begin, std::min(span, beyond));
            std::fill(to, to + begin, 0.0F);
            if (stride == 1) {
                copy(from + first, to, begin, end, 1);
            } else if (stride == 2) {
                copy(from + first, to, begin, end, 2);
            } else {
                copy(from + first, to, begin, end, stride);
            }
            std::fill(to + end, to + span, 0.0F);
        }
    }
};

// The first channels set the output, the others add to it.
void add(float* to, Lanes sum, bool is_first) { store(to, is_first ? sum : load(to) + sum); }

// A row of a tile that reaches beyond the output's last column.
void add_edge(float* to, const float* sum, std::int64_t count, bool is_first) {
    std::int64_t q = 0;
    for (; q + kLanes <= count; q += kLanes) {
        add(to + q, load(sum + q), is_first);
    }
    for (; q < count; ++q) {
        to[q] = is_first ? sum[q] : to[q] + sum[q];
    }
}

// Writes a tile of which `columns` columns lie within the output, whose channels lie `plane` elements apart.
template <std::int64_t Rows, std::int64_t Vectors>
inline void write(const Lanes (&sum)[Rows][Vectors], float* out, std::int64_t plane, std::int64_t columns,
                  bool is_first) {
    if (columns >= Vectors * kLanes) {
        for (std::int64_t r = 0; r < Rows; ++r) {
            for (std::int64_t v = 0; v < Vectors; ++v) {
                add(out + r * plane + v * kLanes, sum[r][v], is_first);
            }
        }
        return;
    }
    float edge[Rows][Vectors * kLanes];
    for (std::int64_t r = 0; r < Rows; ++r) {
        for (std::int64_t v = 0; v < Vectors; ++v) {
            store(edge[r] + v * kLanes, sum[r][v]);
        }
    }
    for (std::int64_t r = 0; r < Rows; ++r) {
        add_edge(out + r * plane, edge[r], columns, is_first);
    }
}

// `Rows` output channels, from `o` on, by `Vectors` vectors of columns of row p, from q on, kept in registers over all
// taps. Not inlined: between the loops of its callers its pointers would not stay in registers.
template <std::int64_t Rows, std::int64_t Vectors>
[[gnu::noinline]] void tile(const Convolution& conv, const Part& part, const Band& band, std::int64_t o,
                            std::int64_t p, std::int64_t q) {
    Lanes sum[Rows][Vectors] = {};
    const std::int64_t filter = conv.c * conv.kh * conv.kw;
    const std::int64_t taps = part.channels * conv.kh * conv.kw;
    const float* f = conv.f + o * filter + part.channel * conv.kh * conv.kw;
    const float* x = band.values + p * conv.stride_h * band.phases * band.span + q;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
        Lanes row[Vectors];
        for (std::int64_t v = 0; v < Vectors; ++v) {
            row[v] = load(x + band.offsets[tap] + v * kLanes);
        }
        for (std::int64_t r = 0; r < Rows; ++r) {
            for (std::int64_t v = 0; v < Vectors; ++v) {
                sum[r][v] += f[r * filter + tap] * row[v];
            }
        }
    }
    const std::int64_t plane = conv.oh * conv.ow;
    write(sum, part.out + o * plane + p * conv.ow + q, plane, part.columns - q, part.channel == 0);
}

template <std::int64_t Rows>
void all_pixels(const Convolution& conv, const Part& part, const Band& band, std::int64_t o) {
    for (std::int64_t p = 0; p < part.rows; ++p) {
        std::int64_t q = 0;
        for (; q + kLanes < part.columns; q += 2 * kLanes) {
            tile<Rows, 2>(conv, part, band, o, p, q);
        }
        if (q < part.columns) {
            tile<Rows, 1>(conv, part, band, o, p, q);
        }
    }
}

// The last output channels, fewer than a full tile's.
template <std::int64_t Rows>
void rest(const Convolution& conv, const Part& part, const Band& band, std::int64_t o) {
    if (conv.oc - o == Rows) {
        all_pixels<Rows>(conv, part, band, o);
    } else if constexpr (Rows > 1) {
        rest<Rows - 1>(conv, part, band, o);
    }
}

void convolve(const Convolution& conv, Part& part, Band& band) {
    band.shape_for(conv, part);
    const std::int64_t share = band.share_of_channels(conv);
    band.list_taps(conv, share);
    for (part.channel = 0; part.channel < conv.c; part.channel += share) {
        part.channels = std::min(share, conv.c - part.channel);
        band.fill(conv, part);
        std::int64_t o = 0;
        for (; o + kRows <= conv.oc; o += kRows) {
            all_pixels<kRows>(conv, part, band, o);
        }
        rest<kRows - 1>(conv, part, band, o);
    }
}

}  // namespace

extern "C" void conv2d(const float* x, const float* f, float* y, std::int64_t n, std::int64_t c, std::int64_t h,
                       std::int64_t w, std::int64_t oc, std::int64_t kh, std::int64_t kw, std::int64_t stride_h,
                       std::int64_t stride_w, std::int64_t pad_h, std::int64_t pad_w) {
    const std::int64_t oh = (h + 2 * pad_h - kh) / stride_h + 1;
    const std::int64_t ow = (w + 2 * pad_w - kw) / stride_w + 1;
    const Convolution conv{x, f, y, c, h, w, oc, kh, kw, stride_h, stride_w, pad_h, pad_w, oh, ow};
    Band band;
    for (std::int64_t image = 0; image < n; ++image) {
        for (std::int64_t row = 0; row < oh; row += kHeight) {
            for (std::int64_t column = 0; column < ow; column += kWidth) {
                Part part{};
                part.image = x + image * c * h * w;
                part.out = y + (image * oc * oh + row) * ow + column;
                part.row = row;
                part.rows = std::min(kHeight, oh - row);
                part.column = column;
                part.columns = std::min(kWidth, ow - column);
                convolve(conv, part, band);
            }
        }
    }
}
