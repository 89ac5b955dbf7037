// What the contestants of a set share with each other and with the timer.
#pragma once

#include "door.hpp"
#include "mapping.hpp"

namespace zoo {

// One copy of each for all contestants: which pages lie well in the caches, and how far the flags are from either
// core, is luck, and it shall be the same for all. Only one contestant runs at a time, all others are stopped, and
// nothing of what one has written is left when the next is woken.
struct Shared {
    Mapping inputs, outputs, door_page, plan_pages;

    [[nodiscard]] Door& door() const { return *reinterpret_cast<Door*>(door_page.data()); }
    [[nodiscard]] Plan& plan() const { return *reinterpret_cast<Plan*>(plan_pages.data()); }
    [[nodiscard]] bool is_mapped() const {
        return inputs.is_mapped() && outputs.is_mapped() && door_page.is_mapped() && plan_pages.is_mapped();
    }
};

}  // namespace zoo
