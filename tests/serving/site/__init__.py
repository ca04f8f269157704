"""A small site for web servers to run: one page for each way to be limited, and a header that names the worker."""
