/* Counts the GEMM calls of a program, loaded into it by LD_PRELOAD.
 *
 * Each function here has the name of a BLAS function, notes the call in a table, and calls the real
 * one. The table is a file that is mapped into memory, one for each process, so that it outlives
 * a crash. Calls of a size are timed all at first, then one in 256 of those that are short. The
 * others are counted and jump to the real function.
 *
 * Environment: MLTUNE_TRACE_FOLDER, where the tables go; MLTUNE_TRACE_WAIT, to wait for the
 * device before and after each OpenCL call, whose time is then that of the product.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define IS_ALONE __libc_single_threaded /* no other thread can count */
#else
#define IS_ALONE 0
#endif

/* --- The table. mltune/trace/table.py reads it: keep both alike. --- */

enum { CAPACITY = 8192, WARM = 16, PERIOD = 256, SHORT_NS = 4000 };
enum { EMPTY, WRITING, READY };
enum { CBLAS = 1, BLAS, CLBLAST, CLBLAS };
#define ROW_MAJOR 0x80        /* of an interface */
#define BATCHED 0x80000000u /* of a batch: it was a batched call, if only of one product */

typedef struct {
    char magic[8];
    uint32_t capacity, entry_bytes;
    uint64_t pid;
    _Atomic uint64_t lost; /* calls for which there was no room */
    _Atomic uint64_t failed; /* calls that returned an error; they are in no entry */
    uint64_t unused[3];
} Header;

typedef struct {
    _Atomic uint32_t state, sampled; /* sampled: calls in sampled_ns */
    uint64_t key[3];                 /* words of Key */
    _Atomic uint64_t count;
    _Atomic uint64_t first_ns;       /* of the first call, which may set things up */
    _Atomic uint64_t warm_ns;        /* of the calls 2 to WARM */
    _Atomic uint64_t sampled_ns;
} Entry;

typedef struct {
    Header header;
    Entry entries[CAPACITY];
} Table;

_Static_assert(sizeof(Header) == 64, "the reader takes 64 bytes");
_Static_assert(sizeof(Entry) == 64, "the reader takes 64 bytes");

static _Atomic(Table *) table;
static Table none; /* stands for "there is no table" */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static __thread int depth __attribute__((tls_model("initial-exec"))); /* of calls: 0, 1, more */
static int waits;
static int (*finish)(void *); /* clFinish */

static Table *open_table(void) {
    const char *folder = getenv("MLTUNE_TRACE_FOLDER");
    char path[4096];
    int file = -1;
    for (int number = 0; folder && number < 1000; ++number) {
        if (snprintf(path, sizeof path, "%s/%ld-%d.table", folder, (long)getpid(), number) >=
            (int)sizeof path)
            break;
        file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file >= 0 || errno != EEXIST) break; /* one process may have become several by exec */
    }
    if (file < 0) return &none;
    /* Room is taken now: a full disk must not end the program later. */
    void *found = MAP_FAILED;
    if (posix_fallocate(file, 0, sizeof(Table)) == 0)
        found = mmap(NULL, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (found == MAP_FAILED) {
        unlink(path);
        return &none;
    }
    Table *made = found;
    made->header.capacity = CAPACITY;
    made->header.entry_bytes = sizeof(Entry);
    made->header.pid = (uint64_t)getpid();
    memcpy(made->header.magic, "MLTRACE1", 8);
    return made;
}

static Table *the_table(void) {
    Table *found = atomic_load_explicit(&table, memory_order_acquire);
    if (found) return found;
    pthread_mutex_lock(&opening);
    found = atomic_load(&table);
    if (!found) {
        found = open_table();
        atomic_store(&table, found);
    }
    pthread_mutex_unlock(&opening);
    return found;
}

static void begin_child(void) { /* a child counts into a table of its own */
    pthread_mutex_init(&opening, NULL);
    atomic_store(&table, NULL);
}

/* The reader skips a size that fills 32 bits, and a batch of 0. */
static inline uint64_t side(uint64_t size) { return size < 0xffffffffu ? size : 0xffffffffu; }
static inline uint64_t batch_of(uint64_t size) { return (size < BATCHED ? size : 0) | BATCHED; }

typedef struct {
    uint64_t words[3];
} Key;

static inline Key key_of(int interface, char precision, int row_major, int trans_a, int trans_b,
                         uint64_t m, uint64_t n, uint64_t k, uint64_t batch) {
    return (Key){{(uint64_t)(interface | (row_major ? ROW_MAJOR : 0)) | (uint64_t)precision << 8 |
                      (uint64_t)(trans_a & 0xff) << 16 | (uint64_t)(trans_b & 0xff) << 24 |
                      batch << 32,
                  side(m) | side(n) << 32, side(k)}};
}

static inline uint64_t hash_of(Key key) {
    uint64_t hash = (key.words[0] * 0x9e3779b97f4a7c15u) ^ (key.words[1] * 0xc2b2ae3d27d4eb4fu) ^
                    (key.words[2] * 0x165667b19e3779f9u);
    return hash ^ hash >> 29;
}

static inline int is_of(const Entry *entry, Key key) {
    return entry->key[0] == key.words[0] && entry->key[1] == key.words[1] &&
           entry->key[2] == key.words[2];
}

static Entry *find(Key key) {
    Table *found = the_table();
    if (found == &none) return NULL;
    uint64_t hash = hash_of(key);
    for (uint32_t probe = 0; probe < CAPACITY; ++probe) {
        Entry *entry = &found->entries[(hash + probe) % CAPACITY];
        uint32_t state = atomic_load_explicit(&entry->state, memory_order_acquire);
        if (state == EMPTY) {
            if (atomic_compare_exchange_strong(&entry->state, &state, WRITING)) {
                memcpy(entry->key, key.words, sizeof entry->key);
                atomic_store_explicit(&entry->state, READY, memory_order_release);
                return entry;
            }
        }
        while (state == WRITING)
            state = atomic_load_explicit(&entry->state, memory_order_acquire);
        if (is_of(entry, key)) return entry;
    }
    atomic_fetch_add(&found->header.lost, 1);
    return NULL;
}

static void *find_real(const char *name, void *own);

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t clock_ns; /* that reading the clock adds to a time */

static uint64_t since(uint64_t began) {
    uint64_t took = now() - began;
    return took > clock_ns ? took - clock_ns : 0;
}

typedef struct {
    _Atomic(void *) real;  /* NULL until the first call */
    _Atomic(void *) plain; /* the same, if no call of it so far came back to this library */
    _Atomic int calls_itself;
} Function;

typedef struct {
    Entry *entry;
    uint64_t number, began; /* began: 0 for a call that is not timed */
    void *queue;            /* to wait for; NULL for none */
} Call;

static inline int is_long(Entry *entry) { /* beside it, reading the clock costs little */
    uint64_t sampled = atomic_load_explicit(&entry->sampled, memory_order_relaxed);
    return atomic_load_explicit(&entry->sampled_ns, memory_order_relaxed) > sampled * SHORT_NS;
}

/* Another program had the processor meanwhile: 4 ms count as 1 s where one call in 256 is timed. */
static int is_disturbed(Entry *entry, uint64_t took) {
    uint64_t sampled = atomic_load_explicit(&entry->sampled, memory_order_relaxed);
    uint64_t sum = atomic_load_explicit(&entry->sampled_ns, memory_order_relaxed);
    return sampled >= WARM && took / 16 > sum / sampled;
}

static inline int is_timed(Entry *entry, uint64_t number) {
    return number <= WARM || number % PERIOD == 0 || is_long(entry);
}

/* Counts a call that needs nothing else: of a known size and not to be timed. */
static inline int is_counted(Key key) {
    Table *found = atomic_load_explicit(&table, memory_order_acquire);
    if (!found) return 0;
    Entry *entry = &found->entries[hash_of(key) % CAPACITY];
    if (atomic_load_explicit(&entry->state, memory_order_acquire) != READY || !is_of(entry, key))
        return 0;
    uint64_t number = atomic_load_explicit(&entry->count, memory_order_relaxed);
    if (is_timed(entry, number)) return 0;
    if (IS_ALONE) /* 2 of 7 ns cheaper */
        atomic_store_explicit(&entry->count, number + 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&entry->count, 1, memory_order_relaxed);
    return 1;
}

static Call begin(Entry *entry, void *queue) {
    Call call = {entry, 0, 0, NULL};
    depth = 1; /* a library may call itself by another interface */
    if (!entry) return call;
    call.number = atomic_fetch_add_explicit(&entry->count, 1, memory_order_relaxed);
    if (queue && waits) {
        if (!finish) *(void **)&finish = find_real("clFinish", NULL);
        if (finish) {
            call.queue = queue;
            finish(queue);
        }
    }
    if (call.queue || is_timed(entry, call.number)) call.began = now();
    return call;
}

static void end(Call call, Function *function, void *real, int status) {
    uint64_t took = call.began ? since(call.began) : 0;
    int calls_itself = depth > 1;
    depth = 0;
    if (calls_itself) atomic_store_explicit(&function->calls_itself, 1, memory_order_relaxed);
    int is_plain = !waits && !atomic_load_explicit(&function->calls_itself, memory_order_relaxed);
    atomic_store_explicit(&function->plain, is_plain ? real : NULL, memory_order_release);
    if (status && call.entry) { /* the next call of the size has this number, so it is watched */
        atomic_fetch_sub_explicit(&call.entry->count, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&the_table()->header.failed, 1, memory_order_relaxed);
        return;
    }
    if (!call.began) return;
    if (call.queue) {
        finish(call.queue);
        took = since(call.began);
    }
    if (call.number == 0) {
        atomic_store_explicit(&call.entry->first_ns, took, memory_order_relaxed);
    } else if (call.number < WARM) {
        atomic_fetch_add_explicit(&call.entry->warm_ns, took, memory_order_relaxed);
    } else if (!is_disturbed(call.entry, took)) {
        atomic_fetch_add_explicit(&call.entry->sampled_ns, took, memory_order_relaxed);
        atomic_fetch_add_explicit(&call.entry->sampled, 1, memory_order_relaxed);
    }
}

/* --- Finding the real functions. --- */

static void *(*real_dlsym)(void *, const char *);

static void find_dlsym(void) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.27"};
    for (unsigned i = 0; !real_dlsym && i < sizeof versions / sizeof *versions; ++i)
        real_dlsym = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!real_dlsym) {
        fputs("mltune trace: this C library has no dlsym that is known\n", stderr);
        abort();
    }
}

enum { MOST_OBJECTS = 4096 };

typedef struct {
    const char *names[MOST_OBJECTS];
    int count;
} Objects;

static int note_object(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    Objects *objects = data;
    if (info->dlpi_name && *info->dlpi_name && objects->count < MOST_OBJECTS)
        objects->names[objects->count++] = info->dlpi_name;
    return 0;
}

/* What comes after this library; else what any loaded object has: Python's modules are loaded
 * with libraries of their own, which no global search sees. */
static void *find_real(const char *name, void *own) {
    if (!real_dlsym) find_dlsym();
    void *found = real_dlsym(RTLD_NEXT, name);
    if (found && found != own) return found;
    Objects *objects = calloc(1, sizeof *objects);
    if (!objects) return NULL;
    dl_iterate_phdr(note_object, objects);
    found = NULL;
    for (int i = 0; i < objects->count && !found; ++i) {
        void *object = dlopen(objects->names[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!object) continue;
        void *there = real_dlsym(object, name);
        if (there && there != own) found = there;
        dlclose(object);
    }
    free(objects);
    return found;
}

static void *resolve(Function *function, const char *name, void *own) {
    void *found = atomic_load_explicit(&function->real, memory_order_acquire);
    if (found) return found;
    found = find_real(name, own);
    if (!found) {
        fprintf(stderr, "mltune trace: the program calls %s, and no library has it\n", name);
        abort();
    }
    atomic_store_explicit(&function->real, found, memory_order_release);
    return found;
}

/* Programs that ask for a function by its name get the one that counts. */
typedef struct {
    const char *name;
    void *own;
    Function *function;
} Known;

static Known known[192];
static int known_count;

static void learn(const char *name, void *own, Function *function) {
    if (known_count < 192) known[known_count++] = (Known){name, own, function};
}

static Known *known_as(const char *name) {
    if (!strstr(name, "emm")) return NULL;
    for (int i = 0; i < known_count; ++i)
        if (strcmp(known[i].name, name) == 0) return &known[i];
    return NULL;
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name) {
    if (!real_dlsym) find_dlsym();
    Known *asked = handle == RTLD_NEXT ? NULL : known_as(name);
    if (!asked) return real_dlsym(handle, name); /* a jump: RTLD_NEXT depends on who calls */
    void *found = real_dlsym(handle, name), *empty = NULL;
    if (!found || found == asked->own) return found;
    if (!atomic_compare_exchange_strong(&asked->function->real, &empty, found) && empty != found)
        return found; /* a second library with the same name: it is not counted */
    return asked->own;
}

/* --- The functions. --- */

typedef struct { float x, y; } Float2;
typedef struct { double x, y; } Double2;
typedef uint16_t Half;

/* SYMBOL is what the linker sees; ID is its name here. */
#define EXPORTED(RETURN, ID, SYMBOL, PARAMETERS)                                                  \
    extern RETURN ID##_exported PARAMETERS __asm__(SYMBOL)                                        \
        __attribute__((alias(#ID), visibility("default")));                                       \
    __attribute__((constructor)) static void learn_##ID(void) {                                   \
        learn(SYMBOL, (void *)ID, &ID##_function);                                                    \
    }

/* A call that is not timed ends in a jump to the real function, its arguments in their places. */
#define COUNTED_AS(RETURN, ID, SYMBOL, PARAMETERS, ARGUMENTS, KEY, KEEP, KEPT, QUEUE)             \
    static Function ID##_function;                                                                \
    static RETURN ID PARAMETERS;                                                                  \
    __attribute__((noinline)) static RETURN ID##_watched PARAMETERS {                             \
        RETURN(*real) PARAMETERS =                                                                \
            (RETURN(*) PARAMETERS)resolve(&ID##_function, SYMBOL, (void *)ID);                    \
        if (depth) {                                                                              \
            ++depth;                                                                              \
            return real ARGUMENTS;                                                                \
        }                                                                                         \
        Call call = begin(find(KEY), QUEUE);                                                      \
        KEEP real ARGUMENTS;                                                                      \
        end(call, &ID##_function, (void *)real, KEPT + 0 /* without a status: 0 */);              \
        return KEPT;                                                                              \
    }                                                                                             \
    static RETURN ID PARAMETERS {                                                                 \
        RETURN(*real) PARAMETERS = (RETURN(*) PARAMETERS)atomic_load_explicit(                    \
            &ID##_function.plain, memory_order_acquire);                                          \
        if (!depth && real && is_counted(KEY)) return real ARGUMENTS;                             \
        return ID##_watched ARGUMENTS;                                                            \
    }                                                                                             \
    EXPORTED(RETURN, ID, SYMBOL, PARAMETERS)
#define COUNTED(ID, SYMBOL, PARAMETERS, ARGUMENTS, KEY)                                           \
    COUNTED_AS(void, ID, SYMBOL, PARAMETERS, ARGUMENTS, KEY, , , NULL)
#define COUNTED_STATUS(ID, SYMBOL, PARAMETERS, ARGUMENTS, KEY, QUEUE)                             \
    COUNTED_AS(int, ID, SYMBOL, PARAMETERS, ARGUMENTS, KEY, int status =, status, QUEUE)

/* CBLAS: netlib's names, and those of the OpenBLAS in numpy's and scipy's wheels. */
#define CBLAS_GEMM(ID, SYMBOL, LETTER, INT, SCALAR)                                               \
    COUNTED(ID, SYMBOL,                                                                           \
            (int order, int ta, int tb, INT m, INT n, INT k, SCALAR alpha, const void *a,         \
             INT lda, const void *b, INT ldb, SCALAR beta, void *c, INT ldc),                     \
            (order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc),                        \
            key_of(CBLAS, LETTER, order == 101, ta, tb, m, n, k, 1))
#define CBLAS_NAMES(P, SCALAR)                                                                    \
    CBLAS_GEMM(cblas_##P, "cblas_" #P "gemm", #P[0], int32_t, SCALAR)                             \
    CBLAS_GEMM(cblas_##P##_64, "cblas_" #P "gemm_64", #P[0], int64_t, SCALAR)                     \
    CBLAS_GEMM(cblas_##P##64_, "cblas_" #P "gemm64_", #P[0], int64_t, SCALAR)                     \
    CBLAS_GEMM(scipy_cblas_##P, "scipy_cblas_" #P "gemm", #P[0], int32_t, SCALAR)                 \
    CBLAS_GEMM(scipy_cblas_##P##64_, "scipy_cblas_" #P "gemm64_", #P[0], int64_t, SCALAR)
CBLAS_NAMES(s, float)
CBLAS_NAMES(d, double)
CBLAS_NAMES(c, const void *)
CBLAS_NAMES(z, const void *)

/* Fortran: the lengths of both texts may follow, and are handed on as they come. */
#define BLAS_GEMM(ID, SYMBOL, LETTER, INT)                                                        \
    COUNTED(ID, SYMBOL,                                                                           \
            (const char *ta, const char *tb, const INT *m, const INT *n, const INT *k,            \
             const void *alpha, const void *a, const INT *lda, const void *b, const INT *ldb,     \
             const void *beta, void *c, const INT *ldc, size_t length_a, size_t length_b),        \
            (ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, length_a, length_b),           \
            key_of(BLAS, LETTER, 0, *ta, *tb, *m, *n, *k, 1))
#define BLAS_NAMES(P)                                                                             \
    BLAS_GEMM(blas_##P, #P "gemm_", #P[0], int32_t)                                               \
    BLAS_GEMM(blas_##P##_64, #P "gemm_64_", #P[0], int64_t)                                       \
    BLAS_GEMM(scipy_blas_##P, "scipy_" #P "gemm_", #P[0], int32_t)                                \
    BLAS_GEMM(scipy_blas_##P##_64, "scipy_" #P "gemm_64_", #P[0], int64_t)
BLAS_NAMES(s)
BLAS_NAMES(d)
BLAS_NAMES(c)
BLAS_NAMES(z)

/* CLBlast: handles are pointers; its C++ functions take what the C functions take. */
#define QUEUE_OF(QUEUES) ((QUEUES) ? *(QUEUES) : NULL)
#define CLBLAST_ENTRY(LETTER, BATCH) key_of(CLBLAST, LETTER, order == 101, ta, tb, m, n, k, BATCH)
#define CLBLAST_GEMM(ID, SYMBOL, LETTER, SCALAR)                                                  \
    COUNTED_STATUS(ID, SYMBOL,                                                                    \
                   (int order, int ta, int tb, size_t m, size_t n, size_t k, SCALAR alpha,        \
                    void *a, size_t ao, size_t lda, void *b, size_t bo, size_t ldb, SCALAR beta,  \
                    void *c, size_t co, size_t ldc, void **queue, void **event),                  \
                   (order, ta, tb, m, n, k, alpha, a, ao, lda, b, bo, ldb, beta, c, co, ldc,      \
                    queue, event),                                                                \
                   CLBLAST_ENTRY(LETTER, 1), QUEUE_OF(queue))
#define CLBLAST_GEMM_IN(ID, SYMBOL, LETTER, SCALAR)                                               \
    COUNTED_STATUS(ID, SYMBOL,                                                                    \
                   (int order, int ta, int tb, size_t m, size_t n, size_t k, SCALAR alpha,        \
                    void *a, size_t ao, size_t lda, void *b, size_t bo, size_t ldb, SCALAR beta,  \
                    void *c, size_t co, size_t ldc, void **queue, void **event, void *scratch),   \
                   (order, ta, tb, m, n, k, alpha, a, ao, lda, b, bo, ldb, beta, c, co, ldc,      \
                    queue, event, scratch),                                                       \
                   CLBLAST_ENTRY(LETTER, 1), QUEUE_OF(queue))
#define CLBLAST_BATCHED(ID, SYMBOL, LETTER, SCALAR)                                               \
    COUNTED_STATUS(ID, SYMBOL,                                                                    \
                   (int order, int ta, int tb, size_t m, size_t n, size_t k, const SCALAR *alpha, \
                    void *a, const size_t *ao, size_t lda, void *b, const size_t *bo, size_t ldb, \
                    const SCALAR *beta, void *c, const size_t *co, size_t ldc, size_t batch,      \
                    void **queue, void **event),                                                  \
                   (order, ta, tb, m, n, k, alpha, a, ao, lda, b, bo, ldb, beta, c, co, ldc,      \
                    batch, queue, event),                                                         \
                   CLBLAST_ENTRY(LETTER, batch_of(batch)), QUEUE_OF(queue))
#define CLBLAST_STRIDED(ID, SYMBOL, LETTER, SCALAR)                                               \
    COUNTED_STATUS(ID, SYMBOL,                                                                    \
                   (int order, int ta, int tb, size_t m, size_t n, size_t k, SCALAR alpha,        \
                    void *a, size_t ao, size_t lda, size_t sa, void *b, size_t bo, size_t ldb,    \
                    size_t sb, SCALAR beta, void *c, size_t co, size_t ldc, size_t sc,            \
                    size_t batch, void **queue, void **event),                                    \
                   (order, ta, tb, m, n, k, alpha, a, ao, lda, sa, b, bo, ldb, sb, beta, c, co,   \
                    ldc, sc, batch, queue, event),                                                \
                   CLBLAST_ENTRY(LETTER, batch_of(batch)), QUEUE_OF(queue))

/* The names of C++: of real types, T is the third thing that a name refers back to. */
#define CPP_HEAD "EENS_10StatusCodeENS_6LayoutENS_9TransposeE"
#define CPP_QUEUE "PP17_cl_command_queuePP9_cl_event"
#define CLBLAST_NAMES(P, C, LETTER, SCALAR, TYPE, TRANS, T, MEM, SIZES, SCALARS)                  \
    CLBLAST_GEMM(clblast_##P, "CLBlast" #C "gemm", LETTER, SCALAR)                                \
    CLBLAST_GEMM_IN(clblast_in_##P, "CLBlast" #C "gemmWithTempBuffer", LETTER, SCALAR)            \
    CLBLAST_BATCHED(clblast_batched_##P, "CLBlast" #C "gemmBatched", LETTER, SCALAR)              \
    CLBLAST_STRIDED(clblast_strided_##P, "CLBlast" #C "gemmStridedBatched", LETTER, SCALAR)       \
    CLBLAST_GEMM_IN(clblast_cpp_##P,                                                              \
                    "_ZN7clblast4GemmI" TYPE CPP_HEAD TRANS "mmmT_P7_cl_memmm" MEM "mm" T MEM     \
                    "mm" CPP_QUEUE MEM, LETTER, SCALAR)                                           \
    CLBLAST_GEMM(clblast_cpp_old_##P,                                                             \
                 "_ZN7clblast4GemmI" TYPE CPP_HEAD TRANS "mmmT_P7_cl_memmm" MEM "mm" T MEM "mm"   \
                 CPP_QUEUE, LETTER, SCALAR)                                                       \
    CLBLAST_BATCHED(clblast_cpp_batched_##P,                                                      \
                    "_ZN7clblast11GemmBatchedI" TYPE CPP_HEAD TRANS "mmmPKT_P7_cl_memPKmm"        \
                    SIZES "m" SCALARS SIZES "mm" CPP_QUEUE, LETTER, SCALAR)                       \
    CLBLAST_STRIDED(clblast_cpp_strided_##P,                                                      \
                    "_ZN7clblast18GemmStridedBatchedI" TYPE CPP_HEAD TRANS "mmmT_P7_cl_memmmm"    \
                    MEM "mmm" T MEM "mmmm" CPP_QUEUE, LETTER, SCALAR)
#define CLBLAST_REAL(P, C, LETTER, SCALAR, TYPE)                                                  \
    CLBLAST_NAMES(P, C, LETTER, SCALAR, TYPE, "S3_", "S4_", "S6_", "S8_SA_", "S6_")
#define CLBLAST_COMPLEX(P, C, LETTER, SCALAR, TYPE)                                               \
    CLBLAST_NAMES(P, C, LETTER, SCALAR, TYPE, "S5_", "S6_", "S8_", "SA_SC_", "S8_")
CLBLAST_REAL(s, S, 's', float, "f")
CLBLAST_REAL(d, D, 'd', double, "d")
CLBLAST_REAL(h, H, 'h', Half, "t")
CLBLAST_COMPLEX(c, C, 'c', Float2, "St7complexIfE")
CLBLAST_COMPLEX(z, Z, 'z', Double2, "St7complexIdE")

/* clBLAS */
#define CLBLAS_GEMM(ID, SYMBOL, LETTER, SCALAR)                                                   \
    COUNTED_STATUS(ID, SYMBOL,                                                                    \
                   (int order, int ta, int tb, size_t m, size_t n, size_t k, SCALAR alpha,        \
                    const void *a, size_t ao, size_t lda, const void *b, size_t bo, size_t ldb,   \
                    SCALAR beta, void *c, size_t co, size_t ldc, uint32_t queues, void **queue,   \
                    uint32_t events, const void *waits_for, void **event),                        \
                   (order, ta, tb, m, n, k, alpha, a, ao, lda, b, bo, ldb, beta, c, co, ldc,      \
                    queues, queue, events, waits_for, event),                                     \
                   key_of(CLBLAS, LETTER, order == 0, ta, tb, m, n, k, 1),                        \
                   queues == 1 ? QUEUE_OF(queue) : NULL)
CLBLAS_GEMM(clblas_s, "clblasSgemm", 's', float)
CLBLAS_GEMM(clblas_d, "clblasDgemm", 'd', double)
CLBLAS_GEMM(clblas_c, "clblasCgemm", 'c', Float2)
CLBLAS_GEMM(clblas_z, "clblasZgemm", 'z', Double2)

__attribute__((constructor)) static void begin_program(void) {
    waits = getenv("MLTUNE_TRACE_WAIT") != NULL;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 20; ++i) {
        uint64_t took = since(now());
        if (took < least) least = took;
    }
    clock_ns = least;
    pthread_atfork(NULL, NULL, begin_child);
}
