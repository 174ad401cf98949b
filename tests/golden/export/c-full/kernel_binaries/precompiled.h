/* Nothing is pre-compiled. `make precompile` writes this file anew. */

#define PRECOMPILED_DEVICE ""
