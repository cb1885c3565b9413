/* An app in C: answers a text by a model under a plan. tests/cli/library.bats builds it against an
 * installed library, by C and by C++ compilers. Usage: answer MODEL PLAN TEXT */
#include <stdio.h>
#include <sti.h>
#include <string.h>

static char plan[1 << 16];

static size_t read_plan(const char* path) {
  FILE* file = fopen(path, "rb");
  size_t size = 0;
  if (file != NULL) {
    size = fread(plan, 1, sizeof plan, file);
    fclose(file);
  }
  return size;
}

int main(int argc, char** argv) {
  sti_host* host = NULL;
  sti_model* model = NULL;
  sti_error error;
  int32_t label = -1;
  if (argc != 4) return 2;
  if (sti_host_new(1, NULL, NULL, &host, &error) == STI_OK &&
      sti_open(host, argv[1], &model, &error) == STI_OK &&
      sti_give(model, STI_PLAN, plan, read_plan(argv[2]), &error) == STI_OK &&
      sti_run(model, argv[3], strlen(argv[3]), NULL, 0, &error) == STI_OK) {
    label = sti_label(model, 0);
    printf("%s\t%.6f\n", sti_name(model, label), sti_score(model, label));
  } else {
    fprintf(stderr, "answer: %s\n", error.text);
  }
  sti_close(model);
  sti_host_free(host);
  return label < 0;
}
