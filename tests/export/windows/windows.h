/* Of Windows' own header what exported C may use. */
typedef struct SRWLOCK {
    void *Ptr;
} SRWLOCK;
#define SRWLOCK_INIT {0}
void __stdcall AcquireSRWLockExclusive(SRWLOCK *);
void __stdcall ReleaseSRWLockExclusive(SRWLOCK *);
#define MOVEFILE_REPLACE_EXISTING 1
int __stdcall MoveFileExA(const char *, const char *, unsigned long);
unsigned long __stdcall GetCurrentProcessId(void);
