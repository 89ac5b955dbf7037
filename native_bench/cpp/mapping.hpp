// One shared mapping of a file descriptor that came from outside.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zoo {

// Owns the mapping: a copy would unmap it twice.
class Mapping {
public:
    Mapping() = default;
    Mapping(int descriptor, std::size_t bytes, bool writable);
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping();

    [[nodiscard]] bool is_mapped() const { return base_ != nullptr; }
    [[nodiscard]] std::byte* data() const { return base_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace zoo
