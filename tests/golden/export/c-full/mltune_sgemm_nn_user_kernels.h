/*
 * mltune_sgemm_nn: kernels that take the place of generated ones.
 *
 * A kernel has the name, the arguments, the work-group and the tile of the one that it replaces,
 * and all its passes.
 * mltune export --user-kernels NAME.cl ... writes this file; by hand it is
 *
 *     static const char *user_0[] = {"the source"};
 *     #define NAME_SOURCE user_0
 */

/* There are none. */
