#include "_select.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <math.h>
int main(int argc,char**argv){ int N=1024,i,r; static _problem p[1024]; srand(atoi(argv[1])); double best=1e9; long s=0;
for(i=0;i<N;i++){p[i].m=exp(rand()/(double)RAND_MAX*9);p[i].n=exp(rand()/(double)RAND_MAX*9);p[i].k=exp(rand()/(double)RAND_MAX*9);p[i].batch=1;}
for(r=0;r<3000;r++){struct timespec a,b;clock_gettime(CLOCK_MONOTONIC,&a);for(i=0;i<N;i++)s+=_select(&p[i]);clock_gettime(CLOCK_MONOTONIC,&b);double t=(b.tv_sec-a.tv_sec)*1e9+(b.tv_nsec-a.tv_nsec);if(t<best)best=t;}
printf("%.1f ns %ld\n",best/N,s);return 0;}
