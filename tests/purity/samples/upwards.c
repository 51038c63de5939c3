/* Calls what no library it may call defines. */
int sample_above(void);
int layer_above(void);

int sample_above(void)
{
    return layer_above();
}
