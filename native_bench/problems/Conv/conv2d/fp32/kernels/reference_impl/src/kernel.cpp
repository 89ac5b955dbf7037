#include <cstdint>

extern "C" void conv2d(const float* x, const float* f, float* y, std::int64_t n, std::int64_t c, std::int64_t h,
                       std::int64_t w, std::int64_t oc, std::int64_t kh, std::int64_t kw, std::int64_t stride_h,
                       std::int64_t stride_w, std::int64_t pad_h, std::int64_t pad_w) {
    const std::int64_t oh = (h + 2 * pad_h - kh) / stride_h + 1;
    const std::int64_t ow = (w + 2 * pad_w - kw) / stride_w + 1;
    for (std::int64_t image = 0; image < n; ++image) {
        for (std::int64_t o = 0; o < oc; ++o) {
            for (std::int64_t p = 0; p < oh; ++p) {
                for (std::int64_t q = 0; q < ow; ++q) {
                    float sum = 0;
                    for (std::int64_t channel = 0; channel < c; ++channel) {
                        for (std::int64_t i = 0; i < kh; ++i) {
                            for (std::int64_t j = 0; j < kw; ++j) {
                                const std::int64_t row = p * stride_h + i - pad_h;
                                const std::int64_t column = q * stride_w + j - pad_w;
                                if (row >= 0 && row < h && column >= 0 && column < w) {
                                    sum += x[((image * c + channel) * h + row) * w + column] *
                                           f[((o * c + channel) * kh + i) * kw + j];
                                }
                            }
                        }
                    }
                    y[((image * oc + o) * oh + p) * ow + q] = sum;
                }
            }
        }
    }
}
