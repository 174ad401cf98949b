"""The only code that touches OpenCL: lists, describes and opens its devices."""
