extern "C" __global__ void conv2d(const float* x, const float* f, float* y, long long c, long long h, long long w,
                                  long long kh, long long kw, long long stride_h, long long stride_w, long long pad_h,
                                  long long pad_w, long long oh, long long ow) {
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at >= oh * ow) {
        return;
    }
    const long long top = at / ow * stride_h - pad_h;
    const long long left = at % ow * stride_w - pad_w;
    const float* image = x + blockIdx.z * c * h * w;
    const float* filter = f + blockIdx.y * c * kh * kw;
    float sum = 0;
    for (long long channel = 0; channel < c; ++channel) {
        for (long long i = 0; i < kh; ++i) {
            for (long long j = 0; j < kw; ++j) {
                if (top + i >= 0 && top + i < h && left + j >= 0 && left + j < w) {
                    sum += image[(channel * h + top + i) * w + left + j] * filter[(channel * kh + i) * kw + j];
                }
            }
        }
    }
    const long long map = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
    y[map * oh * ow + at] = sum;
}
