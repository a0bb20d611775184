/*
 * Test support: a disk beneath one process, for LD_PRELOAD. A data file and its write-ahead log (*.db, *.db-wal) have an
 * image in the folder FAILING_DISK: what a power cut would leave. A write changes the file, as it would the page cache, and
 * notes its pages in `<image>.unsynced`; a sync brings those into the image. While `<folder>/fault` holds the number of an
 * error, a percentage, a seed and the end of a name, that share of the syncs of such files fails. What a failed sync did not
 * write is lost, as on Linux: its pages count as clean, and no later sync writes them unless they are written again. With the
 * error -1 it is lost all the same, and the sync succeeds. Images and notes survive the process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { page = 4096, pages_max = 1 << 16, images_max = 8, path_max = 512 };

struct image {
  char name[256];
  int file;
  unsigned char *unsynced;
};

static struct image images[images_max];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void give_up(const char *what) {
  perror(what);
  abort();
}

static void in_folder(char *path, const char *name, const char *suffix) {
  const char *folder = getenv("FAILING_DISK");
  if (!folder || snprintf(path, path_max, "%s/%s%s", folder, name, suffix) >= path_max) give_up("FAILING_DISK");
}

static int ends_with(const char *path, const char *end) {
  size_t length = strlen(path), of_end = strlen(end);
  return length > of_end && !strcmp(path + length - of_end, end);
}

/* The name of a file that has an image, without its folder; NULL for others. */
static const char *kept_name(const char *path) {
  return ends_with(path, ".db") || ends_with(path, ".db-wal") ? strrchr(path, '/') + 1 : NULL;
}

static void copy_page(int from, int to, long index) {
  char bytes[page];
  ssize_t length = pread(from, bytes, page, index * page);
  if (length > 0 && REAL(pwrite64)(to, bytes, length, index * page) != length) give_up("image");
}

static struct image *open_image(struct image *image, const char *name, int fd) {
  char path[path_max];
  in_folder(path, name, "");
  int is_new = access(path, F_OK) != 0;
  image->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  in_folder(path, name, ".unsynced");
  int notes = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (image->file < 0 || notes < 0 || REAL(ftruncate64)(notes, pages_max)) give_up(path);
  image->unsynced = mmap(NULL, pages_max, PROT_READ | PROT_WRITE, MAP_SHARED, notes, 0);
  if (image->unsynced == MAP_FAILED) give_up(path);
  close(notes);
  snprintf(image->name, sizeof image->name, "%s", name);
  /* What was there before the first write is on the disk. */
  struct stat found;
  if (is_new && !fstat(fd, &found)) for (long index = 0; index * page < found.st_size; index++) copy_page(fd, image->file, index);
  return image;
}

static struct image *image_of(int fd) {
  char link[64], path[path_max];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return NULL;
  path[length] = 0;
  const char *name = kept_name(path);
  if (!name) return NULL;
  for (struct image *image = images; image < images + images_max; image++) {
    if (!strcmp(image->name, name)) return image;
    if (!image->name[0]) return open_image(image, name, fd);
  }
  give_up("too many files");
  return NULL;
}

/* The error that this sync ends with, or 0. */
static int fault(const struct image *image) {
  static unsigned seeded;
  char path[path_max], text[64] = "", end[16] = "";
  int error = 0, percent = 0;
  unsigned seed = 0;
  in_folder(path, "fault", "");
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  if (read(file, text, sizeof text - 1) > 0) sscanf(text, "%d %d %u %15s", &error, &percent, &seed, end);
  close(file);
  if (!ends_with(image->name, end)) return 0;
  if (seed != seeded) srand(seeded = seed);
  return rand() % 100 < percent ? error : 0;
}

static int sync_file(int fd, int (*real)(int)) {
  pthread_mutex_lock(&lock);
  struct image *image = image_of(fd);
  int error = image ? fault(image) : 0;
  for (long index = 0; image && index < pages_max; index++) {
    if (!image->unsynced[index]) continue;
    if (!error || rand() % 2) copy_page(fd, image->file, index);
    image->unsynced[index] = 0;
  }
  pthread_mutex_unlock(&lock);
  if (error <= 0) return real(fd);
  errno = error;
  return -1;
}

int fsync(int fd) { return sync_file(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_file(fd, REAL(fdatasync)); }

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  pthread_mutex_lock(&lock);
  struct image *image = image_of(fd);
  ssize_t written = REAL(pwrite64)(fd, bytes, length, at);
  for (long index = at / page; image && written > 0 && index <= (at + written - 1) / page; index++) {
    if (index >= pages_max) give_up("the file is too large");
    image->unsynced[index] = 1;
  }
  pthread_mutex_unlock(&lock);
  return written;
}

/* Lengths and names are kept at once, as a file system with a journal may do. */
static void shorten(struct image *image, off64_t length) {
  struct stat found;
  if (!fstat(image->file, &found) && found.st_size > length && REAL(ftruncate64)(image->file, length)) give_up("image");
  long kept = (length + page - 1) / page;
  if (kept < pages_max) memset(image->unsynced + kept, 0, pages_max - kept);
}

int ftruncate64(int fd, off64_t length) {
  pthread_mutex_lock(&lock);
  struct image *image = image_of(fd);
  if (image) shorten(image, length);
  pthread_mutex_unlock(&lock);
  return REAL(ftruncate64)(fd, length);
}

int unlink(const char *path) {
  const char *name = kept_name(path);
  pthread_mutex_lock(&lock);
  for (struct image *image = images; name && image < images + images_max; image++) {
    if (!strcmp(image->name, name)) shorten(image, 0);
  }
  pthread_mutex_unlock(&lock);
  return REAL(unlink)(path);
}
