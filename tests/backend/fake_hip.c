/* A libamdhip64 without a GPU: the functions that the driver binds, over host memory, for tests.

   Built twice, with ROCM=5 and ROCM=6, which differ where HIP does. It is as unhelpful as HIP may be: work put into a
   stream runs as late as possible, when something waits for it, and streams run in the order in which they are waited
   for, so that a missing event, or a copy that does not wait, gives wrong bytes. An unknown handle, a dead one or one of
   another device is an error. Device memory starts as 0xA5.

   A code object is read as AMD's runtime reads it: the note of the ELF file says where each argument lies in the
   kernel's argument segment, and a launch copies the arguments there. The segment is recorded, and is what a kernel runs
   on: `fake_register` gives a code object a function compiled for the host that takes its arguments in the same layout.
   Handles are addresses of the structures below. Launches are kept until the process ends. */

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_CONFIGURATION = 9, NO_DEVICE = 100,
       INVALID_DEVICE = 101, INVALID_IMAGE = 200, NO_BINARY = 209, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600 };
enum { DEVICES = 4, ATTRIBUTES = 128, ARGUMENTS = 256, LOCAL_MEMORY = 65536 };

#if ROCM < 6
enum { HOST_MEMORY = 0, DEVICE_MEMORY = 1, VERSION = 50221153 };
#else
enum { HOST_MEMORY = 1, DEVICE_MEMORY = 2, VERSION = 60342134 };
#endif

typedef struct Stream Stream;
typedef struct Work Work;
typedef int Native(const void *arguments, int64_t low, int64_t high, int gx, int gy, int gz);

typedef struct { uint32_t offset, size; int hidden; } Argument;
typedef struct {
  char symbol[256];
  Argument arguments[ARGUMENTS];
  uint32_t count, segment, local_memory, most_threads;
} Kernel;
typedef struct Image { struct Image *next; unsigned char *bytes; size_t size; Native *run; } Image;
typedef struct Function { struct Function *next; Kernel kernel; Image *image; int device; } Function;
typedef struct Module { struct Module *next; Image *image; Kernel kernel; int device; } Module;

typedef struct {  /* what Python reads of a launch */
  const char *symbol;
  uint32_t grid[3], block[3], shared;
  int32_t device;
  void *stream;
  unsigned char *segment;
  uint32_t size;
} Launch;

struct Work {
  enum { NOTHING, COPY, FILL, LAUNCH, WAIT, RELEASE } kind;
  void *to;
  const void *from;
  size_t bytes;
  int value;
  Launch launch;
  Native *run;
  Stream *before[64];  /* and how far each must have come */
  int position[64], waits;
};
struct Stream { Stream *next; int device, dead, isdefault, count, started; Work **work; };
typedef struct Event { struct Event *next; int timed, position, device; Stream *stream; } Event;
typedef struct Memory { struct Memory *next; char *base; size_t bytes; int device, pinned; } Memory;

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread int current, last_error;
static int devices = 1, attributes[DEVICES][ATTRIBUTES], known[DEVICES][ATTRIBUTES], fault, failing, start_code;
static char failing_name[64], architecture[DEVICES][64];
static size_t total = (size_t)1 << 28;
static pid_t started_in;
static Stream defaults[DEVICES], *streams;
static Event *events;
static Memory *memories;
static Module *modules;
static Function *functions;
static Image *images;
static Launch *launches;
static int launch_count;

static void make_lock(void) {
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &kind);
}

/* -------------------------------------------------------------------------------------------- what tests set */

API void fake_setup(int count, size_t memory, const char *name) {
  devices = count;
  total = memory;
  for (int d = 0; d < DEVICES; d++) {
    strcpy(architecture[d], name);
    defaults[d].device = d;
    defaults[d].isdefault = 1;
  }
}
API void fake_attribute(int device, int number, int value) {
  if (number < ATTRIBUTES) attributes[device][number] = value, known[device][number] = 1;
}
API void fake_start(int code) { start_code = code; }                                     /* what hipInit answers */
API void fake_fail(const char *name, int code) { strcpy(failing_name, name); failing = code; }  /* the next call */
API void fake_fault(int code) { fault = code; }                                          /* every call from now on */
API int fake_last_error(void) { return last_error; }
API int fake_launches(void) { return launch_count; }
API const Launch *fake_launch(int i) { return launches + i; }
API size_t fake_used(void) {
  size_t bytes = 0;
  for (Memory *m = memories; m; m = m->next)
    if (!m->pinned) bytes += m->bytes;
  return bytes;
}
API void fake_register(const void *bytes, size_t size, Native *run) {
  Image *image = calloc(1, sizeof *image);
  image->bytes = memcpy(malloc(size), bytes, size);
  image->size = size;
  image->run = run;
  image->next = images;
  images = image;
}

/* -------------------------------------------------------------------------------------------- calls */

static int begin(const char *name) {
  pthread_once(&once, make_lock);
  pthread_mutex_lock(&lock);
  if (started_in != getpid()) return NOT_INITIALIZED;
  if (failing && !strcmp(name, failing_name)) {
    int code = failing;
    failing = 0;
    return code;
  }
  return fault;
}
static int end(int code) {
  pthread_mutex_unlock(&lock);
  if (code) last_error = code;
  return code;
}
#define CALL(expression)                        \
  do {                                          \
    int code_ = begin(__func__);                \
    return end(code_ ? code_ : (expression));   \
  } while (0)

/* -------------------------------------------------------------------------------------------- streams */

static void forget(Memory *memory) {
  Memory **m = &memories;
  while (*m != memory) m = &(*m)->next;
  *m = memory->next;
  free(memory->base);
  free(memory);
}
static void run_until(Stream *stream, int position) {
  while (stream->started < position) {
    Work *w = stream->work[stream->started++];
    for (int i = 0; i < w->waits; i++) run_until(w->before[i], w->position[i]);
    if (w->kind == COPY) memmove(w->to, w->from, w->bytes);
    if (w->kind == FILL) memset(w->to, w->value, w->bytes);
    if (w->kind == RELEASE) forget(w->to);
    if (w->kind == LAUNCH && w->run) {
      uint32_t *g = w->launch.grid;
      w->run(w->launch.segment, 0, (int64_t)g[0] * g[1] * g[2], g[0], g[1], g[2]);
    }
    free(w);
  }
}
static void behind(Work *w, Stream *stream, int position) {
  w->before[w->waits] = stream;
  w->position[w->waits++] = position;
}
/* The default stream waits for the device's others, and they for it. */
static Work *put(Stream *stream, int kind) {
  Work *w = calloc(1, sizeof *w);
  w->kind = kind;
  if (!stream->isdefault) behind(w, &defaults[stream->device], defaults[stream->device].count);
  for (Stream *s = streams; stream->isdefault && s && w->waits < 60; s = s->next)
    if (s->device == stream->device && s->started < s->count) behind(w, s, s->count);
  stream->work = realloc(stream->work, (stream->count + 1) * sizeof *stream->work);
  return stream->work[stream->count++] = w;
}
static Stream *find_stream(void *handle) {
  if (!handle) return &defaults[current];
  for (Stream *s = streams; s; s = s->next)
    if (s == handle && !s->dead && s->device == current) return s;
  return NULL;
}
static Event *find_event(void *handle) {
  for (Event *e = events; e; e = e->next)
    if (e == handle) return e;
  return NULL;
}
static int finish(Stream *s) { put(s, NOTHING); run_until(s, s->count); return 0; }
static int finish_device(void) {
  for (Stream *s = streams; s; s = s->next)
    if (s->device == current) run_until(s, s->count);
  return finish(&defaults[current]);
}

/* -------------------------------------------------------------------------------------------- devices, errors */

static const struct { int code; const char *name, *text; } NAMES[] = {
  {0, "hipSuccess", "no error"}, {1, "hipErrorInvalidValue", "invalid argument"},
  {2, "hipErrorOutOfMemory", "out of memory"}, {3, "hipErrorNotInitialized", "initialization error"},
  {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
  {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
  {101, "hipErrorInvalidDevice", "invalid device ordinal"}, {200, "hipErrorInvalidImage", "device kernel image is invalid"},
  {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
  {400, "hipErrorInvalidHandle", "invalid resource handle"}, {500, "hipErrorNotFound", "named symbol not found"},
  {600, "hipErrorNotReady", "device not ready"}, {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
};
API const char *hipGetErrorName(int code) {
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) if (NAMES[i].code == code) return NAMES[i].name;
  return "hipErrorUnknown";
}
API const char *hipGetErrorString(int code) {
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) if (NAMES[i].code == code) return NAMES[i].text;
  return "unknown error";
}
API int hipGetLastError(void) { int code = last_error; last_error = 0; return code; }
API int hipInit(unsigned flags) {
  (void)flags;
  pthread_once(&once, make_lock);
  started_in = getpid();
  if (start_code) last_error = start_code;
  return start_code;
}
static int counted(int *out) { *out = devices; return devices ? 0 : NO_DEVICE; }
static int version(int *out) { *out = VERSION; return 0; }
static int device_number(int *out, int d) { if (d < 0 || d >= devices) return INVALID_DEVICE; *out = d; return 0; }
static int device_name(char *out, int size, int d) {
  if (d < 0 || d >= devices) return INVALID_DEVICE;
  strncpy(out, "Imaginary Instinct", size);
  return 0;
}
static int device_attribute(int *out, int number, int d) {
  if (d < 0 || d >= devices) return INVALID_DEVICE;
  if (number >= ATTRIBUTES || !known[d][number]) return INVALID_VALUE;
  *out = attributes[d][number];
  return 0;
}
static int device_memory(size_t *out, int d) { if (d < 0 || d >= devices) return INVALID_DEVICE; *out = total; return 0; }
static int set_device(int d) { if (d < 0 || d >= devices) return INVALID_DEVICE; current = d; return 0; }
static int get_device(int *out) { *out = current; return 0; }
static int describe(char *out, int d, size_t offset) {
  if (d < 0 || d >= devices) return INVALID_DEVICE;
  memset(out, '?', offset);
  strcpy(out + offset, architecture[d]);
  return 0;
}
API int hipGetDeviceCount(int *out) { CALL(counted(out)); }
API int hipRuntimeGetVersion(int *out) { CALL(version(out)); }
API int hipDeviceGet(int *out, int d) { CALL(device_number(out, d)); }
API int hipDeviceGetName(char *out, int size, int d) { CALL(device_name(out, size, d)); }
API int hipDeviceGetAttribute(int *out, int number, int d) { CALL(device_attribute(out, number, d)); }
API int hipDeviceTotalMem(size_t *out, int d) { CALL(device_memory(out, d)); }
API int hipSetDevice(int d) { CALL(set_device(d)); }
API int hipGetDevice(int *out) { CALL(get_device(out)); }
API int hipDeviceSynchronize(void) { CALL(finish_device()); }
API int hipGetDeviceProperties(void *out, int d) { CALL(describe(out, d, 396)); }
#if ROCM >= 6
API int hipGetDevicePropertiesR0600(void *out, int d) { CALL(describe(out, d, 1160)); }
#endif

/* -------------------------------------------------------------------------------------------- streams and events */

static int create_stream(void **out) {
  Stream *s = calloc(1, sizeof *s);
  s->device = current;
  s->next = streams;
  streams = *out = s;
  return 0;
}
static int destroy_stream(void *handle) {
  Stream *s = find_stream(handle);
  if (!handle || !s) return INVALID_HANDLE;
  run_until(s, s->count);
  s->dead = 1;
  return 0;
}
static int synchronize_stream(void *handle) { Stream *s = find_stream(handle); return s ? finish(s) : INVALID_HANDLE; }
static int wait_event(void *handle, void *event) {
  Stream *s = find_stream(handle);
  Event *e = find_event(event);
  if (!s || !e) return INVALID_HANDLE;
  if (e->stream) behind(put(s, WAIT), e->stream, e->position);
  return 0;
}
static int create_event(void **out, unsigned flags) {
  Event *e = calloc(1, sizeof *e);
  e->timed = !(flags & 2);
  e->device = current;
  e->next = events;
  events = *out = e;
  return 0;
}
static int destroy_event(void *handle) {
  for (Event **e = &events; *e; e = &(*e)->next)
    if (*e == handle) {
      Event *gone = *e;
      *e = gone->next;
      free(gone);
      return 0;
    }
  return INVALID_HANDLE;
}
static int record_event(void *event, void *handle) {
  Stream *s = find_stream(handle);
  Event *e = find_event(event);
  if (!s || !e || e->device != s->device) return INVALID_HANDLE;
  put(s, NOTHING);
  e->stream = s;
  e->position = s->count;
  return 0;
}
static int synchronize_event(void *handle) {
  Event *e = find_event(handle);
  if (!e) return INVALID_HANDLE;
  if (e->stream) run_until(e->stream, e->position);
  return 0;
}
static int query_event(void *handle) {
  Event *e = find_event(handle);
  return !e ? INVALID_HANDLE : e->stream && e->stream->started < e->position ? NOT_READY : 0;
}
static int elapsed(float *out, void *start, void *stop) {
  Event *a = find_event(start), *b = find_event(stop);
  if (!a || !b || !a->timed || !b->timed || !a->stream || !b->stream) return INVALID_HANDLE;
  if (query_event(a) || query_event(b)) return NOT_READY;
  *out = 0.5f * (b->position - a->position);
  return 0;
}
API int hipStreamCreateWithFlags(void **out, unsigned flags) { CALL(flags ? INVALID_VALUE : create_stream(out)); }
API int hipStreamDestroy(void *s) { CALL(destroy_stream(s)); }
API int hipStreamSynchronize(void *s) { CALL(synchronize_stream(s)); }
API int hipStreamWaitEvent(void *s, void *e, unsigned flags) { CALL(flags ? INVALID_VALUE : wait_event(s, e)); }
API int hipEventCreateWithFlags(void **out, unsigned flags) { CALL(create_event(out, flags)); }
API int hipEventDestroy(void *e) { CALL(destroy_event(e)); }
API int hipEventRecord(void *e, void *s) { CALL(record_event(e, s)); }
API int hipEventSynchronize(void *e) { CALL(synchronize_event(e)); }
API int hipEventQuery(void *e) { CALL(query_event(e)); }
API int hipEventElapsedTime(float *out, void *a, void *b) { CALL(elapsed(out, a, b)); }

/* -------------------------------------------------------------------------------------------- memory */

static Memory *find_memory(const void *address) {
  for (Memory *m = memories; m; m = m->next)
    if ((const char *)address >= m->base && (const char *)address < m->base + m->bytes) return m;
  return NULL;
}
static int on_device(const void *address, size_t bytes) {
  Memory *m = find_memory(address);
  return m && !m->pinned && (const char *)address + bytes <= m->base + m->bytes;
}
static int allocate(void **out, size_t bytes, int pinned) {
  size_t used = 0;
  for (Memory *m = memories; m; m = m->next)
    if (!m->pinned && m->device == current) used += m->bytes;
  if (!pinned && (bytes > total || used + bytes > total)) return OUT_OF_MEMORY;
  Memory *m = calloc(1, sizeof *m);
  if (posix_memalign((void **)&m->base, 256, bytes + 256)) return OUT_OF_MEMORY;
  memset(m->base, 0xA5, bytes + 256);
  m->bytes = bytes;
  m->device = current;
  m->pinned = pinned;
  m->next = memories;
  memories = m;
  *out = m->base;
  return 0;
}
static int release(void *address, int pinned) {
  Memory *m = find_memory(address);
  if (!m || m->base != address || m->pinned != pinned) return INVALID_VALUE;
  int before = current;
  current = m->device;
  finish_device();
  current = before;
  forget(m);
  return 0;
}
static int allocate_async(void **out, size_t bytes, void *s) { return find_stream(s) ? allocate(out, bytes, 0) : INVALID_HANDLE; }
static int release_async(void *address, void *handle) {
  Stream *s = find_stream(handle);
  Memory *m = find_memory(address);
  if (!s) return INVALID_HANDLE;
  if (!m || m->base != address || m->pinned) return INVALID_VALUE;
  put(s, RELEASE)->to = m;
  return 0;
}
static int memory_info(size_t *available, size_t *all) {
  size_t used = 0;
  for (Memory *m = memories; m; m = m->next)
    if (!m->pinned && m->device == current) used += m->bytes;
  *available = total - used;
  *all = total;
  return 0;
}
static int copy(void *to, const void *from, size_t bytes, void *handle, int check_to, int check_from) {
  Stream *s = find_stream(handle);
  if (!s) return INVALID_HANDLE;
  if (!bytes) return 0;
  if ((check_to && !on_device(to, bytes)) || (check_from && !on_device(from, bytes))) return INVALID_VALUE;
  Work *w = put(s, COPY);
  w->to = to;
  w->from = from;
  w->bytes = bytes;
  return 0;
}
static int fill(void *to, int value, size_t bytes, void *handle) {
  Stream *s = find_stream(handle);
  if (!s) return INVALID_HANDLE;
  if (!bytes) return 0;
  if (!on_device(to, bytes)) return INVALID_VALUE;
  Work *w = put(s, FILL);
  w->to = to;
  w->value = value;
  w->bytes = bytes;
  return 0;
}
static int now(int code) { return code ? code : finish(&defaults[current]); }
static int pointer_attribute(void *out, int attribute, void *address) {
  Memory *m = find_memory(address);
  if (!m) return INVALID_VALUE;
  if (attribute == 2) *(uint32_t *)out = m->pinned ? HOST_MEMORY : DEVICE_MEMORY;
  else if (attribute == 9) *(int *)out = m->device;
  else return INVALID_VALUE;
  return 0;
}
API int hipMalloc(void **out, size_t n) { CALL(n ? allocate(out, n, 0) : INVALID_VALUE); }
API int hipFree(void *p) { CALL(release(p, 0)); }
API int hipMallocAsync(void **out, size_t n, void *s) { CALL(allocate_async(out, n, s)); }
API int hipFreeAsync(void *p, void *s) { CALL(release_async(p, s)); }
API int hipHostMalloc(void **out, size_t n, unsigned flags) { CALL(flags > 1 ? INVALID_VALUE : allocate(out, n, 1)); }
API int hipHostFree(void *p) { CALL(release(p, 1)); }
API int hipMemGetInfo(size_t *a, size_t *t) { CALL(memory_info(a, t)); }
API int hipMemcpyHtoD(void *to, void *from, size_t n) { CALL(now(copy(to, from, n, NULL, 1, 0))); }
API int hipMemcpyDtoH(void *to, void *from, size_t n) { CALL(now(copy(to, from, n, NULL, 0, 1))); }
API int hipMemcpyHtoDAsync(void *to, void *from, size_t n, void *s) { CALL(copy(to, from, n, s, 1, 0)); }
API int hipMemcpyDtoHAsync(void *to, void *from, size_t n, void *s) { CALL(copy(to, from, n, s, 0, 1)); }
API int hipMemcpyDtoDAsync(void *to, void *from, size_t n, void *s) { CALL(copy(to, from, n, s, 1, 1)); }
API int hipMemsetD8Async(void *to, unsigned char value, size_t n, void *s) { CALL(fill(to, value, n, s)); }
API int hipPointerGetAttribute(void *out, int attribute, void *p) { CALL(pointer_attribute(out, attribute, p)); }

/* -------------------------------------------------------------------------------------------- code objects */

static uint64_t big_endian(const unsigned char **p, int bytes) {
  uint64_t value = 0;
  while (bytes--) value = value << 8 | *(*p)++;
  return value;
}
/* The head of a MessagePack item: 'm'ap, 'a'rray, 's'tring (length in `n`), or 'i'nteger, 'o'ther (value in `n`). */
static char item(const unsigned char **p, uint64_t *n) {
  unsigned char first = *(*p)++;
  *n = first;
  if (first < 0x80) return 'i';
  if (first < 0x90) return *n = first & 15, 'm';
  if (first < 0xa0) return *n = first & 15, 'a';
  if (first < 0xc0) return *n = first & 31, 's';
  if (first >= 0xcc && first <= 0xcf) return *n = big_endian(p, 1 << (first - 0xcc)), 'i';
  if (first >= 0xd9 && first <= 0xdb) return *n = big_endian(p, 1 << (first - 0xd9)), 's';
  if (first == 0xdc || first == 0xdd) return *n = big_endian(p, 2 << (first - 0xdc)), 'a';
  if (first == 0xde || first == 0xdf) return *n = big_endian(p, 2 << (first - 0xde)), 'm';
  if (first >= 0xd0 && first <= 0xd3) return *n = big_endian(p, 1 << (first - 0xd0)), 'o';
  return 'o'; /* nil, false, true, small negative */
}
static void skip(const unsigned char **p) {
  uint64_t n;
  char kind = item(p, &n);
  if (kind == 's') *p += n;
  for (uint64_t i = 0; kind == 'a' && i < n; i++) skip(p);
  for (uint64_t i = 0; kind == 'm' && i < 2 * n; i++) skip(p);
}
/* The value of a key in the map at `p`, NULL where there is none. */
static const unsigned char *find(const unsigned char *p, const char *key) {
  uint64_t n, length;
  if (item(&p, &n) != 'm') return NULL;
  for (uint64_t i = 0; i < n; i++) {
    if (item(&p, &length) != 's') return NULL;
    int same = length == strlen(key) && !memcmp(p, key, length);
    p += length;
    if (same) return p;
    skip(&p);
  }
  return NULL;
}
static uint32_t number(const unsigned char *map, const char *key) {
  uint64_t n = 0;
  const unsigned char *p = find(map, key);
  return p && item(&p, &n) == 'i' ? n : 0;
}
static const char *text(const unsigned char *map, const char *key, uint64_t *length) {
  const unsigned char *p = find(map, key);
  return p && item(&p, length) == 's' ? (const char *)p : NULL;
}
static const unsigned char *find_note(const unsigned char *elf) {
  uint64_t sections = *(uint64_t *)(elf + 40);
  uint16_t size = *(uint16_t *)(elf + 58), count = *(uint16_t *)(elf + 60);
  for (int i = 0; i < count; i++) {
    const unsigned char *section = elf + sections + i * size;
    if (*(uint32_t *)(section + 4) != 7) continue;
    const unsigned char *p = elf + *(uint64_t *)(section + 24), *stop = p + *(uint64_t *)(section + 32);
    while (p < stop) {
      uint32_t name = ((uint32_t *)p)[0], description = ((uint32_t *)p)[1], kind = ((uint32_t *)p)[2];
      if (kind == 32 && !memcmp(p + 12, "AMDGPU", 6)) return p + 12 + (name + 3) / 4 * 4;
      p += 12 + (name + 3) / 4 * 4 + (description + 3) / 4 * 4;
    }
  }
  return NULL;
}
static int read_kernel(const unsigned char *note, Kernel *kernel) {
  uint64_t n, length;
  const unsigned char *p = find(note, "amdhsa.kernels");
  if (!p || item(&p, &n) != 'a' || n != 1) return INVALID_IMAGE;
  const char *name = text(p, ".name", &length);
  if (!name || length >= sizeof kernel->symbol) return INVALID_IMAGE;
  memcpy(kernel->symbol, name, length);
  kernel->segment = number(p, ".kernarg_segment_size");
  kernel->local_memory = number(p, ".group_segment_fixed_size");
  kernel->most_threads = number(p, ".max_flat_workgroup_size");
  const unsigned char *a = find(p, ".args");
  if (!a || item(&a, &n) != 'a' || n > ARGUMENTS) return a ? INVALID_IMAGE : 0;
  for (uint64_t i = 0; i < n; i++, skip(&a)) {
    const char *kind = text(a, ".value_kind", &length);
    kernel->arguments[i] = (Argument){number(a, ".offset"), number(a, ".size"), !kind || !strncmp(kind, "hidden_", 7)};
    kernel->count++;
  }
  return 0;
}
static int load_module(void **out, const unsigned char *elf) {
  if (memcmp(elf, "\x7f" "ELF", 4)) return INVALID_IMAGE;
  const unsigned char *note = find_note(elf);
  uint64_t length;
  const char *target = note ? text(note, "amdhsa.target", &length) : NULL;
  if (!target) return INVALID_IMAGE;
  size_t own = strcspn(architecture[current], ":");
  const char *arch = target + length;
  while (arch > target && arch[-1] != '-') arch--;
  if ((size_t)(target + length - arch) != own || memcmp(arch, architecture[current], own)) return NO_BINARY;
  Module *m = calloc(1, sizeof *m);
  m->device = current;
  for (Image *image = images; image && !m->image; image = image->next)
    if (!memcmp(image->bytes, elf, 64) && !memcmp(image->bytes, elf, image->size)) m->image = image;
  int code = read_kernel(note, &m->kernel);
  if (code) return code;
  m->next = modules;
  modules = *out = m;
  return 0;
}
static int get_function(void **out, void *handle, const char *name) {
  Module *m = modules;
  while (m && m != handle) m = m->next;
  if (!m) return INVALID_HANDLE;
  if (strcmp(name, m->kernel.symbol)) return NOT_FOUND;
  Function *f = calloc(1, sizeof *f);
  f->kernel = m->kernel;
  f->image = m->image;
  f->device = m->device;
  f->next = functions;
  functions = *out = f;
  return 0;
}
static int launch(void *handle, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                  uint32_t shared, void *on, void **parameters) {
  Function *f = functions;
  Stream *s = find_stream(on);
  while (f && f != handle) f = f->next;
  if (!f || !s || f->device != current) return INVALID_HANDLE;
  if (!gx || !gy || !gz || !bx || !by || !bz) return INVALID_VALUE;
  if (gx > INT32_MAX || gy > 65536 || gz > 65536) return INVALID_VALUE;
  if ((uint64_t)gx * bx > UINT32_MAX || bx * by * bz > f->kernel.most_threads) return INVALID_CONFIGURATION;
  if (f->kernel.local_memory + shared > LOCAL_MEMORY) return INVALID_VALUE;
  Launch l = {f->kernel.symbol, {gx, gy, gz}, {bx, by, bz}, shared, current, on, NULL, f->kernel.segment};
  l.segment = memset(malloc(f->kernel.segment + 16), 0xCC, f->kernel.segment + 16);
  int given = 0;
  for (uint32_t i = 0; i < f->kernel.count; i++) {
    Argument a = f->kernel.arguments[i];
    if (!a.hidden) memcpy(l.segment + a.offset, parameters[given++], a.size);
  }
  launches = realloc(launches, (launch_count + 1) * sizeof *launches);
  launches[launch_count++] = l;
  Work *w = put(s, LAUNCH);
  w->launch = l;
  w->run = f->image ? f->image->run : NULL;
  return 0;
}
API int hipModuleLoadData(void **out, const void *image) { CALL(load_module(out, image)); }
API int hipModuleGetFunction(void **out, void *module, const char *name) { CALL(get_function(out, module, name)); }
API int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                              unsigned shared, void *stream, void **parameters, void **extra) {
  CALL(extra ? INVALID_VALUE : launch(f, gx, gy, gz, bx, by, bz, shared, stream, parameters));
}
