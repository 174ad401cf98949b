#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int strcmp(const char *, const char *);
char *strchr(const char *, int);
size_t strspn(const char *, const char *);
size_t strlen(const char *);
char *strstr(const char *, const char *);
