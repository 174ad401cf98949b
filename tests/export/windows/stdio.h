#include <stddef.h>
typedef struct FILE FILE;
FILE *__acrt_iob_func(unsigned);
#define stderr (__acrt_iob_func(2))
int fclose(FILE *);
int ferror(FILE *);
FILE *fopen(const char *, const char *);
int fprintf(FILE *, const char *, ...);
int fputc(int, FILE *);
int fputs(const char *, FILE *);
size_t fread(void *, size_t, size_t, FILE *);
size_t fwrite(const void *, size_t, size_t, FILE *);
int printf(const char *, ...);
int remove(const char *);
int snprintf(char *, size_t, const char *, ...);
