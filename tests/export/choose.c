/* Reads sizes m n k batch from stdin and prints the number of the kernel for each, or -1 if the
   answer is another one when it is known already. */

#include SELECT_H

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    PROBLEM problem;

    while (scanf("%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &problem.m, &problem.n,
                 &problem.k, &problem.batch) == 4) {
        const int kernel = SELECT(&problem);
        printf("%d\n", SELECT(&problem) == kernel ? kernel : -1);
    }
    return 0;
}
