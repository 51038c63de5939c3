/* zkconsumer completion: what shells need to complete the program's command lines. */
#include "zkconsumer/cli/command_table.h"
#include "zkconsumer/cli/common_options.h"
#include "zkconsumer/cli/complete.h"
#include "zkconsumer/cli/output.h"
#include "zkconsumer/cli/report.h"
#include "zkconsumer/core/base/array.h"
#include <string.h>
#include <unistd.h>

enum { HELP, OPTIONS };

static const struct cli_option options[OPTIONS] = {
    [HELP] = OPTION_HELP,
};

/* COMP_WORDS is cut at '=' and ':' (COMP_WORDBREAKS), so the line is split here; readline replaces
 * only what follows the last '='. */
static const char bash_text[] =
    "_zkconsumer()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words candidate\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && words+=(\"\")\n"
    "    local typed=${words[-1]}\n"
    "    COMPREPLY=()\n"
    "    while IFS=$'\\t' read -r candidate _; do\n"
    "        if [[ $candidate == " COMPLETE_FILES " ]]; then\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            mapfile -t COMPREPLY < <(compgen -f -- \"${typed#*=}\")\n"
    "        else\n"
    "            [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null\n"
    "            [[ $typed == *=* ]] && candidate=${candidate#\"${typed%=*}=\"}\n"
    "            COMPREPLY+=(\"$candidate\")\n"
    "        fi\n"
    "    done < <(zkconsumer completion words -- \"${words[@]}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _zkconsumer";

static const char zsh_text[] =
    "_zkconsumer()\n"
    "{\n"
    "    local line\n"
    "    local -a whole open\n"
    "    for line in ${(f)\"$(zkconsumer completion words -- \"${(@)words[1,CURRENT]}\" "
    "2>/dev/null)\"}; do\n"
    "        if [[ $line == " COMPLETE_FILES " ]]; then\n"
    "            [[ $PREFIX == -*=* ]] && compset -P '*='\n"
    "            _files\n"
    "        elif [[ ${line%%$'\\t'*} == *= ]]; then\n"
    "            open+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "        else\n"
    "            whole+=(\"${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}\")\n"
    "        fi\n"
    "    done\n"
    "    (( $#whole )) && _describe -V zkconsumer whole\n"
    "    (( $#open )) && _describe -V zkconsumer open -S ''\n"
    "}\n"
    "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
    "    _zkconsumer \"$@\"\n"
    "else\n"
    "    compdef _zkconsumer";

static const char fish_text[] =
    "function __zkconsumer_complete\n"
    "    set -l typed (commandline -ct)\n"
    "    zkconsumer completion words -- (commandline -opc) $typed 2>/dev/null | while read -l "
    "line\n"
    "        if test \"$line\" = '" COMPLETE_FILES "'\n"
    "            __fish_complete_path (string replace -r '^-[^=]*=' '' -- $typed)\n"
    "        else\n"
    "            printf '%s\\n' $line\n"
    "        end\n"
    "    end\n"
    "end\n";

/* The program's name and all of its links, each after `lead`. */
static void append_programs(struct buf *out, const char *lead, const char *tail)
{
    struct cli_commands all = commands_all();
    buf_appendf(out, "%szkconsumer%s", lead, tail);
    for (size_t i = 0; i < all.count; i++) {
        for (const char *at = all.list[i]->kafka ? all.list[i]->kafka : ""; *at;) {
            size_t len = strcspn(at, " ");
            if (!memchr(at, '.', len))
                buf_appendf(out, "%s%.*s%s", lead, (int)len, at, tail);
            at += len + (at[len] == ' ');
        }
    }
}

static bool append_script(struct buf *out, const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        buf_append_text(out, bash_text);
        append_programs(out, " ", "");
        buf_append_text(out, "\n");
    } else if (strcmp(shell, "zsh") == 0) {
        buf_append_text(out, "#compdef");
        append_programs(out, " ", "");
        buf_append_text(out, "\n");
        buf_append_text(out, zsh_text);
        append_programs(out, " ", "");
        buf_append_text(out, "\nfi\n");
    } else if (strcmp(shell, "fish") == 0) {
        buf_append_text(out, fish_text);
        append_programs(out, "complete -c ", " -f -a '(__zkconsumer_complete)'\n");
    } else {
        return false;
    }
    return true;
}

static enum cli_exit run(const struct cli_args *args)
{
    const char *what = args->operand_count ? args->operands[0] : "";
    struct output out;
    output_init(&out, STDOUT_FILENO, OUTPUT_FLUSH_BYTES);
    enum cli_exit code = CLI_FAILED;
    if (strcmp(what, "words") == 0 && args->operand_count > 1) {
        complete_append(commands_all(), args->operands + 1, args->operand_count - 1, &out.buf);
        code = output_finish(&out);
    } else if (args->operand_count == 1 && append_script(&out.buf, what)) {
        code = output_finish(&out);
    } else if (args->operand_count == 1 && strcmp(what, "words") != 0) {
        report_error("unknown shell \"%s\"; there are: bash, zsh, fish", what);
    } else {
        report_error("for which shell? e.g. zkconsumer completion bash");
    }
    output_deinit(&out);
    return code;
}

static const struct cli_pair examples[] = {
    {"source <(zkconsumer completion bash)", "Completion in this bash."},
    {"zkconsumer completion zsh >~/.zfunc/_zkconsumer", "For a folder of zsh's fpath."},
    {"zkconsumer completion fish | source",
     "A line of ~/.config/fish/config.fish, where fish does not look into the folder of the "
     "installation (XDG_DATA_DIRS)."},
};
static const struct cli_pair exits[] = {
    {"0", "printed"},
    {"1", "usage, or stdout could not be written"},
};

const struct cli_command command_completion = {
    .name = "completion",
    .summary = "Print what a shell needs to complete command lines",
    .synopsis = "bash|zsh|fish\nwords -- WORD ...",
    .description =
        "Prints a script for the shell, for the program and its links. What it offers comes from "
        "the program itself, by the second form: for the words of a line, the last being typed, a "
        "line for each word that it may become, with a tab and what it means.",
    .words = "bash zsh fish",
    .options = options,
    .option_count = OPTIONS,
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exits = exits,
    .exit_count = ARRAY_LEN(exits),
    .run = run,
};
