#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 0x7fff
double atof(const char *);
int atoi(const char *);
long long atoll(const char *);
void *bsearch(const void *, const void *, size_t, size_t,
              int (*)(const void *, const void *));
void *calloc(size_t, size_t);
__declspec(noreturn) void exit(int);
void free(void *);
char *getenv(const char *);
void *malloc(size_t);
int rand(void);
void *realloc(void *, size_t);
long strtol(const char *, char **, int);
