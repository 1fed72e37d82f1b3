/*
 * zocl_native.c - native binaries.
 * SPDX-License-Identifier: MIT
 */
#include "module/zocl_module.h"

#include <stdlib.h>
#include <string.h>

/* A native binary is this driver's own container: the header, the flags with
   their NUL, then the SPIR-V with its constants set, or the source.  A
   compiled binary would depend on the processor and on the compiler. */
typedef struct container {
  char magic[8];
  uint64_t checksum; /* of everything after it */
  uint64_t total;    /* bytes, including the header */
  uint64_t flags_size, spirv_size;
} container;

static const char container_magic[] = "lzezocl1";
static const char source_magic[] = "lzezoclc";

void *zocl_module_pack(const zocl_module *module, const void *spirv,
                       size_t spirv_size, size_t *size)
{
  container head = {.flags_size = strlen(module->flags) + 1,
                    .spirv_size = spirv_size};
  head.total = sizeof head + head.flags_size + spirv_size;
  memcpy(head.magic, module->source ? source_magic : container_magic,
         sizeof head.magic);
  unsigned char *packed = malloc(head.total);
  if (packed == NULL) return NULL;
  memcpy(packed + sizeof head, module->flags, head.flags_size);
  memcpy(packed + sizeof head + head.flags_size, spirv, spirv_size);
  memcpy(packed, &head, sizeof head);
  const size_t summed = offsetof(container, total);
  head.checksum = zocl_hash(3, packed + summed, head.total - summed);
  memcpy(packed, &head, sizeof head);
  *size = head.total;
  return packed;
}

bool zocl_native_open(const void *bytes, size_t size, zocl_native *opened)
{
  container head;
  const unsigned char *p = bytes;
  const size_t summed = offsetof(container, total);
  if (size < sizeof head) return false;
  memcpy(&head, bytes, sizeof head);
  opened->source = memcmp(head.magic, source_magic, sizeof head.magic) == 0;
  if ((!opened->source &&
       memcmp(head.magic, container_magic, sizeof head.magic) != 0) ||
      head.total != size ||
      zocl_hash(3, p + summed, size - summed) != head.checksum)
    return false;
  size_t rest = size - sizeof head;
  if (head.flags_size == 0 || head.flags_size > rest ||
      head.spirv_size != rest - head.flags_size)
    return false;
  opened->flags = (const char *)p + sizeof head;
  opened->code = opened->flags + head.flags_size;
  opened->code_size = head.spirv_size;
  return opened->flags[head.flags_size - 1] == '\0';
}
