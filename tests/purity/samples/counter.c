int sample_count(void);

int sample_count(void)
{
    static int counter;
    return ++counter;
}
