#ifndef ZKC_BASE_ARRAY_H
#define ZKC_BASE_ARRAY_H

#define ARRAY_LEN(a) (sizeof(a) / sizeof *(a))

#endif
