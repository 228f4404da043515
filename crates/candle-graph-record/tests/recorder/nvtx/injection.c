/* A profiler's NVTX library in small: it takes the calls of the default domain and writes each as a line of a file.
 * In: the file's name in CANDLE_GRAPH_TEST_NVTX_LOG, what to take in CANDLE_GRAPH_TEST_NVTX_TAKE. Out: lines
 * "THREAD push HEX", "THREAD pop", "THREAD start ID HEX", "THREAD end ID"; HEX are the bytes of a name, threads are
 * numbered in the order of their first calls. Left to neighbours: what the lines should be (nvtx.rs).
 *
 * Numbers of modules, tables and slots are those of NVTX 3. */
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
typedef int (*GetTable)(int module, Function ***table, unsigned int *size);
typedef struct { size_t size; GetTable get; } Callbacks;
typedef struct { size_t size; uint32_t version; uint32_t reserved; void (*set)(uint32_t); } Version;
typedef const void *(*GetExport)(uint32_t id);

enum { START_EX = 4, START_A = 5, END = 7, PUSH_EX = 8, PUSH_A = 9, POP = 11 };

static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int threads;
static __thread int thread;
/* Beyond 32 bits, as ids may be. */
static uint64_t ranges = UINT64_C(0x700000000);
static __thread int depth;

static void line(const char *name, const char *format, ...) {
    va_list arguments;
    if (!thread) thread = ++threads;
    fprintf(out, "%d ", thread);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    if (name) {
        fputc(' ', out);
        for (; *name; name++) fprintf(out, "%02x", (unsigned char)*name);
    }
    fputc('\n', out);
    fflush(out);
}

static int push(const char *name) {
    pthread_mutex_lock(&lock);
    line(name, "push");
    pthread_mutex_unlock(&lock);
    return depth++;
}

static int pop(void) {
    pthread_mutex_lock(&lock);
    line(NULL, "pop");
    pthread_mutex_unlock(&lock);
    return depth > 0 ? --depth : -2;
}

static uint64_t start(const char *name) {
    pthread_mutex_lock(&lock);
    uint64_t id = ++ranges;
    line(name, "start %" PRIu64, id);
    pthread_mutex_unlock(&lock);
    return id;
}

static void end(uint64_t id) {
    pthread_mutex_lock(&lock);
    line(NULL, "end %" PRIu64, id);
    pthread_mutex_unlock(&lock);
}

/* With attributes: nobody makes these calls. */
static int push_ex(const void *attributes) {
    (void)attributes;
    pthread_mutex_lock(&lock);
    line(NULL, "push_ex");
    pthread_mutex_unlock(&lock);
    return depth++;
}

static uint64_t start_ex(const void *attributes) {
    (void)attributes;
    pthread_mutex_lock(&lock);
    uint64_t id = ++ranges;
    line(NULL, "start_ex %" PRIu64, id);
    pthread_mutex_unlock(&lock);
    return id;
}

int InitializeInjectionNvtx2(GetExport get) {
    const char *path = getenv("CANDLE_GRAPH_TEST_NVTX_LOG");
    const char *take = getenv("CANDLE_GRAPH_TEST_NVTX_TAKE");
    if (!path || !(out = fopen(path, "a"))) return 0;

    const Callbacks *callbacks = get(1);
    const Version *version = get(3);
    Function **table = NULL;
    unsigned int size = 0;
    if (!callbacks || callbacks->size < sizeof *callbacks || !version || version->size < sizeof *version) return 0;
    fprintf(out, "version %" PRIu32 ", tables", version->version);
    version->set(3);
    /* All modules, and numbers that are none. */
    for (int module = -1; module <= 8; module++) {
        if (callbacks->get(module, &table, &size)) {
            fprintf(out, " %d:%u", module, size);
            if (table[0]) fprintf(out, " with a slot 0");
            for (unsigned int slot = 1; slot < size; slot++)
                if (!table[slot]) fprintf(out, " without slot %u", slot);
        }
    }
    fprintf(out, ", others %d\n", get(0) || get(2) || get(4) || get(UINT32_MAX));
    fflush(out);

    /* Any slot of any module may be written to. */
    if (!callbacks->get(5, NULL, NULL) || !callbacks->get(5, &table, &size)) return 0;
    for (unsigned int slot = 1; slot < size; slot++) *table[slot] = (Function)pop;
    if (!callbacks->get(1, &table, &size) || size <= POP) return 0;
    *table[START_EX] = (Function)start_ex;
    *table[START_A] = (Function)start;
    *table[END] = (Function)end;
    if (take && !strcmp(take, "start and end")) return 1;
    *table[PUSH_EX] = (Function)push_ex;
    *table[PUSH_A] = (Function)push;
    *table[POP] = (Function)pop;
    /* A tool that finds it has no licence, no driver, no room. */
    return !(take && !strcmp(take, "nothing"));
}
