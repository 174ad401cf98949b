/* ---- Products that are ready at once ---- */
#define BEGIN_PRODUCTS()
#define END_PRODUCTS()
#define AWAIT_PRODUCTS(n)
#define SHOW_COPIES()
