#ifndef ZKCONSUMER_VERSION_H
#define ZKCONSUMER_VERSION_H

#include <zkconsumer/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZKC_VERSION 0x00010000 /* 0xMMmmrrpp: major, minor, revision, pre-release */
#define ZKC_VERSION_TEXT "0.1.0"

/* The version of the library that runs, to compare with the macros of the one compiled against. */
ZKC_API int zkc_version(void);
ZKC_API const char *zkc_version_text(void);

#ifdef __cplusplus
}
#endif
#endif
