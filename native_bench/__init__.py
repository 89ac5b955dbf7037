"""The measuring engine: builds, checks and times a kernel, with the clock in another process than the kernel."""
