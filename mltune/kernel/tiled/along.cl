/* The same of operands that lie along the sum, for terms l to l + VWU - 1 at once. READ_PARTS then
   takes number `term` of these. */
#define READ_ALONG(l)                                                                            \
    do {                                                                                         \
${reads}    } while (0)
