/* Of Windows' own header what exported C may use. */
typedef struct SRWLOCK {
    void *Ptr;
} SRWLOCK;
#define SRWLOCK_INIT {0}
void __stdcall AcquireSRWLockExclusive(SRWLOCK *);
void __stdcall ReleaseSRWLockExclusive(SRWLOCK *);
