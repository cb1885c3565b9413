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
 *     warm-server SOCKET MODEL.sti [PLAN]       serve
 *     warm-server SOCKET ask LINE...            send lines, print the answers
 *
 * Answers one connection at a time. Build: cc warm-server.c $(pkg-config --cflags --libs sti) */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sti.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PROFILE_BUDGET_US 500000

typedef struct server {
  sti_host* host;
  sti_model* model;
} server;

static int fail(const char* what, const char* why) {
  fprintf(stderr, "warm-server: %s: %s\n", what, why);
  return 1;
}

static int address_of(const char* path, struct sockaddr_un* address) {
  memset(address, 0, sizeof(*address));
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof(address->sun_path)) return -1;
  strcpy(address->sun_path, path);
  return 0;
}

/* Returns a file's content, which is the caller's; NULL if it cannot be read. */
static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  long end = -1;
  char* bytes = NULL;
  if (file == NULL) return NULL;
  if (fseek(file, 0, SEEK_END) == 0) end = ftell(file);
  if (end >= 0 && fseek(file, 0, SEEK_SET) == 0) bytes = malloc((size_t)end + 1);
  if (bytes != NULL) *size = fread(bytes, 1, (size_t)end, file);
  fclose(file);
  return bytes;
}

static sti_code give_plan(sti_model* model, const char* path, sti_error* error) {
  size_t size = 0;
  char* bytes = read_file(path, &size);
  const sti_code code = sti_give(model, STI_PLAN, bytes, size, error);
  free(bytes);
  return code;
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

static void print_label(FILE* out, sti_model* model) {
  const int32_t label = sti_label(model, 0);
  fprintf(out, "%s\t%.4f\n", sti_name(model, label), sti_score(model, label));
}

/* Answers one line. Returns 0 where it is the last. */
static int answer(server* self, const char* line, FILE* out) {
  sti_model* model = self->model;
  sti_error error;
  sti_code code = STI_OK;
  if (strcmp(line, ".quit") == 0) {
    fputs("ok\n", out);
    return 0;
  }
  if (strncmp(line, ".trim ", 6) == 0) {
    code = sti_trim(model, strtoull(line + 6, NULL, 10), &error);
  } else if (strncmp(line, ".target ", 8) == 0) {
    code = plan_for(model, strtoll(line + 8, NULL, 10), &error);
  } else if (strcmp(line, ".stat") == 0) {
    fprintf(out, "own %.0f latency_us %.0f compute_drift %.2f read_drift %.2f\n",
            sti_stat(model, STI_OWN_BYTES), sti_stat(model, STI_LATENCY_US),
            sti_stat(model, STI_COMPUTE_DRIFT), sti_stat(model, STI_READ_DRIFT));
    return 1;
  } else {
    code = sti_run(model, line, strlen(line), NULL, 0, &error);
    if (code == STI_OK) {
      print_label(out, model);
      return 1;
    }
  }
  if (code == STI_OK) {
    fputs("ok\n", out);
  } else {
    fprintf(out, "error\t%d\t%s\n", (int)code, error.text);
  }
  return 1;
}

static int serve_connection(server* self, int connection) {
  FILE* in = fdopen(connection, "r");
  const int copy = dup(connection);
  FILE* out = copy < 0 ? NULL : fdopen(copy, "w");
  char* line = NULL;
  size_t room = 0;
  ssize_t size;
  int goes_on = 1;
  while (in != NULL && out != NULL && goes_on && (size = getline(&line, &room, in)) > 0) {
    if (line[size - 1] == '\n') line[size - 1] = 0;
    goes_on = answer(self, line, out);
    fflush(out);
  }
  free(line);
  if (out != NULL) fclose(out);
  if (in != NULL) fclose(in);
  return goes_on;
}

static int serve(server* self, const char* path) {
  struct sockaddr_un address;
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  int connection;
  if (listener < 0 || address_of(path, &address) != 0) return fail(path, "no such socket");
  unlink(path);
  if (bind(listener, (struct sockaddr*)&address, sizeof(address)) != 0 ||
      listen(listener, 16) != 0) {
    return fail(path, "cannot listen there");
  }
  do {
    connection = accept(listener, NULL, NULL);
  } while (connection >= 0 && serve_connection(self, connection));
  close(listener);
  unlink(path);
  return 0;
}

static int ask(const char* path, int count, char** lines) {
  struct sockaddr_un address;
  const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
  char reply[1024];
  FILE* in;
  int i;
  if (connection < 0 || address_of(path, &address) != 0 ||
      connect(connection, (struct sockaddr*)&address, sizeof(address)) != 0) {
    return fail(path, "nobody answers there");
  }
  in = fdopen(connection, "r");
  for (i = 0; in != NULL && i < count; ++i) {
    dprintf(connection, "%s\n", lines[i]);
    if (fgets(reply, sizeof(reply), in) == NULL) break;
    fputs(reply, stdout);
  }
  if (in != NULL) fclose(in);
  return i == count ? 0 : fail(path, "the server has gone");
}

int main(int argc, char** argv) {
  server self = {NULL, NULL};
  sti_error error;
  int status;
  if (argc >= 4 && strcmp(argv[2], "ask") == 0) return ask(argv[1], argc - 3, argv + 3);
  if (argc != 3 && argc != 4) {
    fputs("usage: warm-server SOCKET MODEL.sti [PLAN], or warm-server SOCKET ask LINE...\n",
          stderr);
    return 2;
  }
  if (sti_host_new(0, NULL, NULL, &self.host, &error) != STI_OK ||
      sti_open(self.host, argv[2], &self.model, &error) != STI_OK ||
      (argc == 4 && give_plan(self.model, argv[3], &error) != STI_OK)) {
    return fail(argv[2], error.text);
  }
  status = serve(&self, argv[1]);
  sti_close(self.model);
  sti_host_free(self.host);
  return status;
}
