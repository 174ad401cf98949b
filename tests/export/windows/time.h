struct timespec {
    long long tv_sec;
    long tv_nsec;
};
#define TIME_UTC 1
int timespec_get(struct timespec *, int);
typedef long clock_t;
#define CLOCKS_PER_SEC ((clock_t)1000)
clock_t clock(void);
