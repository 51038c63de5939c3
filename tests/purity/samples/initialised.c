int sample_next(void);

static int next = 7;

int sample_next(void)
{
    return next++;
}
