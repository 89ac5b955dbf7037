"""The program of a runner: claims runs through a port, executes each in a child process, reports. No Django."""
