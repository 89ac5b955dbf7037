#include "mapping.hpp"

#include <sys/mman.h>

#include <utility>

namespace zoo {

Mapping::Mapping(int descriptor, std::size_t bytes, bool writable) : bytes_(bytes) {
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* base = mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
    base_ = base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
}

Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Mapping::~Mapping() {
    if (base_ != nullptr) {
        munmap(base_, bytes_);
    }
}

}  // namespace zoo
