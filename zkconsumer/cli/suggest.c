#include "zkconsumer/cli/suggest.h"
#include <stdint.h>
#include <string.h>

#define WORD_MAX 63

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    a_len = smaller(a_len, WORD_MAX);
    b_len = smaller(b_len, WORD_MAX);
    size_t rows[3][WORD_MAX + 1]; /* the row being made and the two before it */
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = smaller(replaced, smaller(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = smaller(now[j], before[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

void suggestion_init(struct suggestion *s, const char *word, size_t len)
{
    *s = (struct suggestion){.word = word, .len = len, .distance = SIZE_MAX};
}

static bool is_beginning(const struct suggestion *s, const char *candidate, size_t len)
{
    return s->len >= 2 && s->len < len && memcmp(s->word, candidate, s->len) == 0;
}

void suggestion_offer(struct suggestion *s, const char *candidate, size_t len)
{
    size_t distance = edit_distance(s->word, s->len, candidate, len);
    if (is_beginning(s, candidate, len))
        distance = 1; /* cut short: as good as one wrong letter, whatever is missing */
    if (distance < s->distance) {
        s->distance = distance;
        s->nearest = candidate;
        s->nearest_len = len;
    }
}

bool suggestion_is_near(const struct suggestion *s)
{
    return s->nearest && s->distance <= (s->nearest_len > 3 ? s->nearest_len / 3 : 1);
}
