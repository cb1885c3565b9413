/* A warm process behind a socket: it opens a model once, plans for this device, and answers each
 * line of each connection with a label and its score. A line that begins with a dot is an order:
 *
 *     .trim BYTES     give memory back until the model has at most so many bytes
 *     .target US      plan again for this latency, with the drift measured so far
 *     .stat           own bytes, latency of the last answer, drift of layers and reads
 *     .quit           end the server
 *
 * The system tells an app when memory is short (PSI, cgroup events) or a battery low; whoever hears
 * it sends the order.
 *
 *     warm-server SOCKET MODEL.sti [PLAN]       serve, until .quit, SIGTERM or SIGINT
 *     warm-server SOCKET ask LINE...            send lines, print the answers
 *
 * One thread waits for all connections and answers their lines in turn. A client that sends half a
 * line, or does not read, keeps nobody waiting; of too many, the one that is silent longest goes.
 * The socket is for this user alone, and takes the place of nothing but a socket that a dead server
 * has left. Build: cc warm-server.c $(pkg-config --cflags --libs sti) */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sti.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PROFILE_BUDGET_US 500000
#define MOST_PLAN_BYTES (64L << 20)
#define MOST_CLIENTS 32
#define MOST_LINE_BYTES 16384
#define MOST_ANSWER_BYTES 2048

typedef struct client {
  int fd;                   /* -1: free */
  int is_done;              /* it sends no more */
  int leaves;               /* once its answers are sent */
  unsigned long long heard; /* when, counted in lines and connections */
  size_t in_size, out_size;
  char in[MOST_LINE_BYTES + 1];
  char out[MOST_ANSWER_BYTES];
} client;

typedef struct server {
  sti_host* host;
  sti_model* model;
  int listener;
  int ends;
  unsigned long long heard;
  client clients[MOST_CLIENTS];
} server;

static int wake_pipe[2]; /* a signal writes into it, so that poll ends */

static int fail(const char* what, const char* why) {
  fprintf(stderr, "warm-server: %s: %s\n", what, why);
  return 1;
}

/* ---- Plans ---- */

/* Returns a file's content, which is the caller's; NULL with errno set if it cannot be read. */
static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* bytes = NULL;
  long end;
  if (file == NULL) return NULL;
  errno = EINVAL;
  if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0 && end <= MOST_PLAN_BYTES &&
      fseek(file, 0, SEEK_SET) == 0 && (bytes = malloc((size_t)end)) != NULL) {
    *size = fread(bytes, 1, (size_t)end, file);
    if (*size != (size_t)end) {
      free(bytes);
      bytes = NULL;
      errno = EIO;
    }
  }
  fclose(file);
  return bytes;
}

static int give_plan(sti_model* model, const char* path) {
  size_t size = 0;
  sti_error error;
  char* bytes = read_file(path, &size);
  sti_code code;
  if (bytes == NULL) return fail(path, strerror(errno));
  code = sti_give(model, STI_PLAN, bytes, size, &error);
  free(bytes);
  return code == STI_OK ? 0 : fail(path, error.text);
}

/* Plans for a latency; measures the device first if nobody has. */
static sti_code plan_for(sti_model* model, long long target_us, sti_error* error) {
  static char profile[1 << 16];
  size_t size;
  if (sti_profile(model, 0, profile, sizeof(profile), &size, error) != STI_OK &&
      sti_profile(model, PROFILE_BUDGET_US, profile, sizeof(profile), &size, error) != STI_OK) {
    return error->code;
  }
  if (sti_set(model, STI_TARGET_US, target_us, error) != STI_OK) return error->code;
  return sti_plan(model, error);
}

/* ---- Answers ---- */

/* Adds to what a client is sent. What one line is answered with always finds room. */
static void say(client* to, const char* format, ...) {
  const size_t room = sizeof(to->out) - to->out_size;
  va_list values;
  int size;
  va_start(values, format);
  size = vsnprintf(to->out + to->out_size, room, format, values);
  va_end(values);
  if (size < 0) return;
  if ((size_t)size < room) {
    to->out_size += (size_t)size;
  } else { /* cut, but still a line */
    to->out_size = sizeof(to->out);
    to->out[to->out_size - 1] = '\n';
  }
}

/* Reads the number behind an order; -1 if there is none. */
static long long number_behind(const char* text) {
  char* end = NULL;
  const long long number = strtoll(text, &end, 10);
  return end == text || *end != 0 || number < 0 ? -1 : number;
}

static sti_code bad_order(sti_error* error, const char* why) {
  snprintf(error->text, sizeof(error->text), "%s", why);
  return error->code = STI_USAGE;
}

/* Does what a line that begins with a dot asks for. */
static sti_code obey(server* self, client* from, const char* order, sti_error* error) {
  sti_model* model = self->model;
  if (strcmp(order, ".quit") == 0) {
    self->ends = 1;
    return STI_OK;
  }
  if (strcmp(order, ".stat") == 0) {
    say(from, "own %.0f latency_us %.0f compute_drift %.2f read_drift %.2f\n",
        sti_stat(model, STI_OWN_BYTES), sti_stat(model, STI_LATENCY_US),
        sti_stat(model, STI_COMPUTE_DRIFT), sti_stat(model, STI_READ_DRIFT));
    return STI_OK;
  }
  if (strncmp(order, ".trim ", 6) == 0) {
    const long long bytes = number_behind(order + 6);
    if (bytes < 0) return bad_order(error, ".trim takes a number of bytes");
    return sti_trim(model, (uint64_t)bytes, error);
  }
  if (strncmp(order, ".target ", 8) == 0) {
    const long long target_us = number_behind(order + 8);
    if (target_us <= 0) return bad_order(error, ".target takes microseconds, more than 0");
    return plan_for(model, target_us, error);
  }
  return bad_order(error, "no such order; there are .trim BYTES, .target US, .stat and .quit");
}

/* Answers one line of `size` bytes, with a 0 behind them. */
static void answer(server* self, client* from, const char* line, size_t size) {
  const size_t before = from->out_size;
  sti_error error;
  sti_code code;
  if (line[0] == '.') {
    code = obey(self, from, line, &error);
    if (code == STI_OK && from->out_size == before) say(from, "ok\n");
  } else {
    code = sti_run(self->model, line, size, NULL, 0, &error);
    if (code == STI_OK) {
      const int32_t label = sti_label(self->model, 0);
      say(from, "%s\t%.4f\n", sti_name(self->model, label), sti_score(self->model, label));
    }
  }
  if (code != STI_OK) say(from, "error\t%d\t%s\n", (int)code, error.text);
}

/* Returns whether a client has sent a line that can be answered now: first it reads what it was
 * sent. */
static int has_line(const client* from) {
  if (from->out_size > 0 || from->leaves) return 0;
  return from->in_size == MOST_LINE_BYTES || memchr(from->in, '\n', from->in_size) != NULL;
}

/* Answers the first line that a client has sent. */
static void answer_next(server* self, client* from) {
  char* end = memchr(from->in, '\n', from->in_size);
  size_t size, taken;
  from->heard = ++self->heard;
  if (end == NULL) {
    say(from, "error\t%d\ta line of over %d bytes\n", STI_BAD_INPUT, MOST_LINE_BYTES);
    from->leaves = 1;
    return;
  }
  size = (size_t)(end - from->in);
  taken = size + 1;
  if (size > 0 && from->in[size - 1] == '\r') --size;
  from->in[size] = 0;
  answer(self, from, from->in, size);
  memmove(from->in, from->in + taken, from->in_size - taken);
  from->in_size -= taken;
}

/* ---- Connections ---- */

static void drop(client* leaving) {
  close(leaving->fd);
  leaving->fd = -1;
}

static void receive(client* from) {
  const ssize_t size = recv(from->fd, from->in + from->in_size, MOST_LINE_BYTES - from->in_size, 0);
  if (size > 0) {
    from->in_size += (size_t)size;
  } else if (size == 0) { /* it sends no more; a last line needs no end */
    from->is_done = 1;
    if (from->in_size > 0 && from->in[from->in_size - 1] != '\n') from->in[from->in_size++] = '\n';
  } else if (errno != EAGAIN && errno != EINTR) {
    drop(from);
  }
}

/* Sends what the client takes. One that has left is no reason for a signal (SIGPIPE). */
static void send_some(client* to) {
  const ssize_t size = send(to->fd, to->out, to->out_size, MSG_NOSIGNAL);
  if (size < 0) {
    if (errno != EAGAIN && errno != EINTR) drop(to);
    return;
  }
  memmove(to->out, to->out + size, to->out_size - (size_t)size);
  to->out_size -= (size_t)size;
}

/* Does a little for one client that has something to be done. */
static void attend(server* self, client* to) {
  if (to->out_size > 0) {
    send_some(to);
  } else if (!has_line(to) && !to->is_done && !to->leaves) {
    receive(to);
  }
  if (to->fd >= 0 && has_line(to)) {
    answer_next(self, to);
    send_some(to);
  }
  if (to->fd >= 0 && to->out_size == 0 && !has_line(to) && (to->is_done || to->leaves)) drop(to);
}

static void welcome(server* self) {
  client* place = &self->clients[0];
  const int fd = accept(self->listener, NULL, NULL);
  int i;
  if (fd < 0) return; /* it has left already */
  for (i = 0; i < MOST_CLIENTS && place->fd >= 0; ++i) {
    client* other = &self->clients[i];
    if (other->fd < 0 || other->heard < place->heard) place = other;
  }
  if (place->fd >= 0) drop(place);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  place->fd = fd;
  place->is_done = place->leaves = 0;
  place->in_size = place->out_size = 0;
  place->heard = ++self->heard;
}

/* One round: waits for something to do, and does a little for each. A client that sends many lines
 * at once has one of them answered. */
static void serve_some(server* self) {
  struct pollfd waits[MOST_CLIENTS + 2];
  int wait_ms = -1;
  int i;
  waits[0].fd = self->listener;
  waits[1].fd = wake_pipe[0];
  waits[0].events = waits[1].events = POLLIN;
  for (i = 0; i < MOST_CLIENTS; ++i) {
    const client* one = &self->clients[i];
    waits[i + 2].fd = one->fd;
    waits[i + 2].events = one->out_size > 0 ? POLLOUT : one->is_done ? 0 : POLLIN;
    if (one->fd >= 0 && has_line(one)) wait_ms = 0;
  }
  if (poll(waits, MOST_CLIENTS + 2, wait_ms) < 0) return; /* a signal, which the pipe tells of */
  if (waits[1].revents != 0) self->ends = 1;
  for (i = 0; i < MOST_CLIENTS && !self->ends; ++i) {
    client* one = &self->clients[i];
    if (one->fd >= 0 && (waits[i + 2].revents != 0 || has_line(one))) attend(self, one);
  }
  if (!self->ends && waits[0].revents != 0) welcome(self);
}

static int address_of(const char* path, struct sockaddr_un* address) {
  memset(address, 0, sizeof(*address));
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof(address->sun_path)) return -1;
  strcpy(address->sun_path, path);
  return 0;
}

/* Returns whether a socket is there that nobody listens to any more. */
static int is_left_behind(const char* path, const struct sockaddr_un* address) {
  struct stat info;
  const int probe = socket(AF_UNIX, SOCK_STREAM, 0);
  const int refused = probe >= 0 &&
                      connect(probe, (const struct sockaddr*)address, sizeof(*address)) != 0 &&
                      errno == ECONNREFUSED;
  const int is_left = refused && lstat(path, &info) == 0 && S_ISSOCK(info.st_mode);
  if (probe >= 0) close(probe);
  errno = EADDRINUSE;
  return is_left;
}

/* Makes the socket. While it looks whether one there is still served, and replaces it, it holds a
 * lock on the folder: of two servers that begin at once, one finds the other. */
static int listen_at(server* self, const char* path, struct stat* made) {
  const char* slash = strrchr(path, '/');
  char* folder = slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
  const int lock = folder == NULL ? -1 : open(folder, O_RDONLY | O_CLOEXEC);
  struct sockaddr_un address;
  const mode_t mask = umask(0177);
  int bound = -1;
  self->listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (self->listener >= 0 && lock >= 0 && flock(lock, LOCK_EX) == 0) {
    if (address_of(path, &address) != 0) {
      errno = ENAMETOOLONG;
    } else {
      bound = bind(self->listener, (struct sockaddr*)&address, sizeof(address));
      if (bound != 0 && errno == EADDRINUSE && is_left_behind(path, &address)) {
        unlink(path);
        bound = bind(self->listener, (struct sockaddr*)&address, sizeof(address));
      }
      if (bound == 0) bound = listen(self->listener, 16);
      if (bound == 0) bound = lstat(path, made);
    }
  }
  if (bound != 0) fail(path, errno == EADDRINUSE ? "something else is there" : strerror(errno));
  umask(mask);
  free(folder);
  if (lock >= 0) close(lock);
  return bound;
}

static void on_signal(int number) {
  const int before = errno;
  (void)number;
  if (write(wake_pipe[1], "", 1) < 0) errno = EAGAIN; /* full: it is awake */
  errno = before;
}

/* Lets the first SIGTERM or SIGINT end the server after the line at hand; a second one kills it. */
static int listen_for_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  action.sa_flags = (int)SA_RESETHAND;
  if (pipe(wake_pipe) != 0) return fail("cannot make a pipe", strerror(errno));
  fcntl(wake_pipe[1], F_SETFL, O_NONBLOCK);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  return 0;
}

static int serve(server* self, const char* path) {
  struct stat made, now;
  int i;
  for (i = 0; i < MOST_CLIENTS; ++i) self->clients[i].fd = -1;
  if (listen_for_signals() != 0 || listen_at(self, path, &made) != 0) return 1;
  while (!self->ends) serve_some(self);
  for (i = 0; i < MOST_CLIENTS; ++i) {
    if (self->clients[i].fd < 0) continue;
    if (self->clients[i].out_size > 0) send_some(&self->clients[i]);
    if (self->clients[i].fd >= 0) drop(&self->clients[i]);
  }
  /* Unless somebody has put another one there. */
  if (lstat(path, &now) == 0 && now.st_dev == made.st_dev && now.st_ino == made.st_ino)
    unlink(path);
  close(self->listener);
  return 0;
}

/* ---- Asking ---- */

static int send_line(int connection, const char* line) {
  const char* parts[2];
  int i;
  parts[0] = line;
  parts[1] = "\n";
  for (i = 0; i < 2; ++i) {
    size_t left = strlen(parts[i]);
    while (left > 0) {
      const ssize_t size = send(connection, parts[i], left, MSG_NOSIGNAL);
      if (size < 0 && errno != EINTR) return -1;
      if (size < 0) continue;
      parts[i] += size;
      left -= (size_t)size;
    }
  }
  return 0;
}

static int ask(const char* path, int count, char** lines) {
  struct sockaddr_un address;
  const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  char* reply = NULL;
  size_t room = 0;
  FILE* in;
  int i;
  if (connection < 0 || address_of(path, &address) != 0 ||
      connect(connection, (struct sockaddr*)&address, sizeof(address)) != 0) {
    return fail(path, "nobody answers there");
  }
  in = fdopen(connection, "r");
  for (i = 0; in != NULL && i < count; ++i) {
    if (send_line(connection, lines[i]) != 0 || getline(&reply, &room, in) <= 0) break;
    fputs(reply, stdout);
  }
  free(reply);
  if (in != NULL) fclose(in);
  return i == count ? 0 : fail(path, "the server has gone");
}

int main(int argc, char** argv) {
  static server self; /* too large for some stacks */
  sti_error error;
  int status = 1;
  if (argc >= 4 && strcmp(argv[2], "ask") == 0) return ask(argv[1], argc - 3, argv + 3);
  if (argc != 3 && argc != 4) {
    fputs("usage: warm-server SOCKET MODEL.sti [PLAN], or warm-server SOCKET ask LINE...\n",
          stderr);
    return 2;
  }
  if (sti_host_new(0, NULL, NULL, &self.host, &error) != STI_OK ||
      sti_open(self.host, argv[2], &self.model, &error) != STI_OK) {
    fail(argv[2], error.text);
  } else if (argc == 3 || give_plan(self.model, argv[3]) == 0) {
    status = serve(&self, argv[1]);
  }
  sti_close(self.model);
  sti_host_free(self.host);
  return status;
}
