/* Reads sizes m n k batch from stdin and prints the number of the kernel for each. */

#include SELECT_H

#include <inttypes.h>
#include <stdio.h>

int main(void)
{
    PROBLEM problem;

    while (scanf("%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &problem.m, &problem.n,
                 &problem.k, &problem.batch) == 4)
        printf("%d\n", SELECT(&problem));
    return 0;
}
