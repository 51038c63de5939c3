int sample_depth(void);

static _Thread_local int depth;

int sample_depth(void)
{
    return ++depth;
}
