#include "tests/unit/wire/vectors.h"
#include "tests/unit/test.h"

static void path_of(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/wire/%s", TEST_VECTORS, name);
}

json_t *vectors_json(const char *name)
{
    char path[512];
    path_of(path, sizeof path, name);
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (!json)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return json;
}

struct bytes vectors_file(const char *name)
{
    char path[512];
    path_of(path, sizeof path, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be opened", path);
    const size_t max = 1 << 20;
    uint8_t *data = malloc(max);
    assert_non_null(data);
    size_t len = fread(data, 1, max, f);
    assert_true(len < max);
    fclose(f);
    return bytes_of(data, len);
}

struct bytes bytes_of_hex(const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *data = malloc(len + 1);
    assert_non_null(data);
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        data[i] = (uint8_t)byte;
    }
    return bytes_of(data, len);
}

const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text)
        fail_msg("no text \"%s\" in a vector", key);
    return text;
}

bool bytes_equal_json(struct bytes got, const json_t *want)
{
    if (json_is_null(want))
        return bytes_is_null(got);
    const json_t *text = json_object_get(want, "text");
    if (text)
        return bytes_equal(got, bytes_of(json_string_value(text), json_string_length(text)));
    struct bytes raw = bytes_of_hex(member_text(want, "hex"));
    bool equal = bytes_equal(got, raw);
    free((void *)raw.data);
    return equal;
}
