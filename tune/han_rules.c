/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_rules: checks and explains files of rules (docs/rules.md), with the parser and the lookup of the component
 * itself, and converts files of Open MPI's own HAN.
 */
#include "han_rules.h"

#include "coll_han_choice.h"
#include "coll_han_classes.h"
#include "common/tool_version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rules that explain shows beside the one that decides. */
enum { RUNNERS_UP = 3 };

static void usage(FILE *out)
{
    fputs(
        "han_rules - files of rules for coll/han\n"
        "\n"
        "  han_rules check FILE...\n"
        "      Reads files as the component does. What is wrong is told as FILE:LINE: what, and what is accepted.\n"
        "\n"
        "  han_rules explain [FILE] --collective NAME --nodes N --ppn N --bytes N [--order ORDER] [--form FORM]\n"
        "      [--machine FILE]\n"
        "      What decides a call: a rule of the file, what it says, and which rules come next; where the file has\n"
        "      none or there is no FILE, the model: its best five candidates, for the bytes of their class (up to a\n"
        "      power of two, and up to one and a half of it), and what the worse of both times is over the least that\n"
        "      any candidate has; where it knows nothing, a built-in rule. K, M, G may follow bytes. ORDER:\n"
        "      consecutive (the default: every node holds consecutive ranks), scattered. FORM: blocking (the\n"
        "      default), nonblocking, persistent. --machine is as coll_han_machine: a FILE with a machine; none, no\n"
        "      model; auto (the default) is TCP at 20 Gbit/s here, for nothing is measured.\n"
        "\n"
        "  han_rules builtin\n"
        "      Prints the built-in rules: to begin a file with.\n"
        "\n"
        "  han_rules convert FILE\n"
        "      Prints a file of rules of Open MPI's own HAN as rules of this one.\n"
        "\n"
        "  han_rules regret CSV --machine FILE [--shape NODESxPPN] [--rate WORD] [--show WHICH]\n"
        "      How good the model's choice would be on that machine: what its picks take over what the best candidate\n"
        "      takes, by a table of bench/candidates; of lines with that shape and rate only. WHICH: far (the\n"
        "      default) shows each pick that takes more than 1.25 of the best one, all shows every pick.\n"
        "\n"
        "Exit codes: 0 all is well, 1 a file is not, 2 bad arguments.\n",
        out);
}

void *need(void *memory)
{
    if (NULL == memory) {
        fprintf(stderr, "han_rules: memory is short\n");
        exit(BAD_FILE);
    }
    return memory;
}

mca_coll_han_collective_t collective_of(const mca_coll_han_rule_t *rule)
{
    int collective = 0;

    while (HAN_COLLECTIVE_COUNT > collective && rule->collectives != UINT64_C(1) << collective) {
        ++collective;
    }
    return (mca_coll_han_collective_t) collective;
}

static int bad_use(const char *what, const char *which)
{
    fprintf(stderr, "han_rules: %s%s; --help tells more\n", what, which);
    return BAD_USE;
}

static void tell(const char *path, const mca_coll_han_rules_error_t *error)
{
    if (0 == error->line) {
        fprintf(stderr, "%s: %s\n", path, error->what);
    } else {
        fprintf(stderr, "%s:%d: %s\n", path, error->line, error->what);
    }
}

/* -- check -- */

static int check(const char *path)
{
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;
    uint64_t collectives = 0;

    if (0 != mca_coll_han_rules_read(&rules, path, &error)) {
        tell(path, &error);
        return BAD_FILE;
    }
    for (size_t i = 0; i < rules.count; ++i) {
        collectives |= rules.rules[i].collectives;
    }
    printf("%s: %zu rule%s for", path, rules.count, 1 == rules.count ? "" : "s");
    for (int i = 0; i < HAN_COLLECTIVE_COUNT; ++i) {
        if (0 != (collectives >> i & 1)) {
            printf(" %s", mca_coll_han_collective_names[i]);
        }
    }
    printf("; machine: %s\n", NULL == rules.machine ? "not said" : rules.machine);
    mca_coll_han_rules_free(&rules);
    return GOOD;
}

/* -- explain -- */

/* A rule, and how far it is. */
struct ranked {
    const mca_coll_han_rule_t *rule;
    uint64_t distance;
};

static int by_distance(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    return a->distance != b->distance ? (a->distance < b->distance ? -1 : 1) : a->rule > b->rule ? -1 : 1;
}

static void print_rule(const char *place, const struct ranked *ranked)
{
    char text[HAN_RULES_TEXT];

    mca_coll_han_rule_format(ranked->rule, text, sizeof(text));
    printf("%-8s %s (%.2f doublings away)\n         %s\n", place, ranked->rule->text,
           ldexp((double) (ranked->distance & ~UINT64_C(1)), -HAN_DISTANCE_BITS), strchr(text, ':') + 2);
}

/* Shows the nearest rules of a table. Returns the nearest; NULL where the table has none. */
static const mca_coll_han_rule_t *explain_table(const mca_coll_han_rules_t *rules, const mca_coll_han_input_t *input)
{
    struct ranked *ranked = need(malloc((rules->count + 1) * sizeof(*ranked)));
    const mca_coll_han_rule_t *nearest;
    size_t count = 0;

    for (size_t i = 0; i < rules->count; ++i) {
        if (mca_coll_han_rule_serves(&rules->rules[i], input)) {
            ranked[count++] = (struct ranked){ &rules->rules[i], mca_coll_han_rule_distance(&rules->rules[i], input) };
        }
    }
    qsort(ranked, count, sizeof(*ranked), by_distance);
    for (size_t i = 0; i < count && i <= RUNNERS_UP; ++i) {
        print_rule(0 == i ? "nearest" : "next", &ranked[i]);
    }
    nearest = 0 == count ? NULL : ranked[0].rule;
    free(ranked);
    return nearest;
}

/* What comes of the rule, for a user who has set nothing. */
static void explain_decision(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input)
{
    static const mca_coll_han_settings_t unset = { HAN_AUTO, 0, HAN_AUTO, HAN_AUTO, 0 };
    const mca_coll_han_params_t params = mca_coll_han_decide(input, &rule->params, &unset);
    char text[HAN_RULES_TEXT];

    printf("decides  %s\n         %s\n", params.why, mca_coll_han_params_format(&params, text, sizeof(text)));
}

/* Why the rule of a file leaves a call to the built-in rules; NULL where it does not. */
static const char *why_left(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input)
{
    return NULL == rule                                        ? "there is no rule for this collective, form and order"
           : rule->leave                                       ? "algorithm=auto"
           : !mca_coll_han_fits(rule->params.algorithm, input) ? "the algorithm does not serve this call"
                                                               : NULL;
}

/* The rule that decides where no file does. */
static int explain_builtin(const mca_coll_han_input_t *input)
{
    mca_coll_han_rules_t builtin;
    mca_coll_han_rules_error_t error;

    if (0
        != mca_coll_han_rules_parse(&builtin, "built-in rules", mca_coll_han_builtin, strlen(mca_coll_han_builtin),
                                    &error)) {
        tell("built-in rules", &error);
        return BAD_FILE;
    }
    explain_decision(explain_table(&builtin, input), input);
    mca_coll_han_rules_free(&builtin);
    return GOOD;
}

/* The model decides, or (`decides` false) shows what it would. */
static int explain_model(const char *name, const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                         bool decides)
{
    char text[HAN_CHOICE_TEXT];

    if (decides) {
        printf("decides  the model, for %s\n", name);
    }
    fputs(need(mca_coll_han_choice_best(machine, input, text)), stdout);
    return GOOD;
}

/*
 * @param path of a file of rules; NULL: there is none
 * @param machine_name of the machine; NULL: there is none, and the built-in rules decide where the file does not
 */
static int explain(const char *path, const char *machine_name, const mca_coll_han_machine_t *machine,
                   const mca_coll_han_input_t *input)
{
    const bool model = NULL != machine_name && mca_coll_han_choice_serves(input);
    mca_coll_han_rules_t rules = { .count = 0 };
    mca_coll_han_rules_error_t error;
    const mca_coll_han_rule_t *rule = NULL;
    const char *why;
    int rc = GOOD;

    if (NULL != path && 0 != mca_coll_han_rules_read(&rules, path, &error)) {
        tell(path, &error);
        return BAD_FILE;
    }
    printf("%s of %zu bytes on %d nodes, %d ranks per node, %s\n", mca_coll_han_collective_names[input->collective],
           input->bytes, input->nodes, input->ppn, input->in_order ? "consecutive" : "scattered");
    if (NULL != path) {
        rule = explain_table(&rules, input);
    }
    why = why_left(rule, input);
    if (NULL == why) {
        explain_decision(rule, input);
    } else if (NULL != path) {
        printf("left     to the %s: %s\n", model ? "model" : "built-in rules", why);
    }
    if (NULL != why && !model) {
        rc = explain_builtin(input);
    }
    mca_coll_han_rules_free(&rules);
    return GOOD == rc && model ? explain_model(machine_name, machine, input, NULL != why) : rc;
}

/* The input is read as a rule would be: by the parser of rules, which says what is accepted. */
static int read_input(mca_coll_han_input_t *input, const char *const values[])
{
    mca_coll_han_rules_t rules;
    mca_coll_han_rules_error_t error;
    const mca_coll_han_rule_t *rule;
    char line[512];
    int rc = GOOD;

    *input = mca_coll_han_input_good(HAN_BCAST);
    snprintf(line, sizeof(line),
             "han-rules %d\n%.60s nodes=%.60s ppn=%.60s bytes=%.60s order=%.60s form=%.60s : algorithm=auto",
             HAN_RULES_VERSION, values[0], values[1], values[2], values[3], values[4], values[5]);
    if (0 != mca_coll_han_rules_parse(&rules, "", line, strlen(line), &error)) {
        return bad_use(error.what, "");
    }
    rule = rules.rules;
    input->collective = collective_of(rule);
    input->nodes = (int) rule->nodes.low;
    input->ppn = (int) rule->ppn.low;
    input->bytes = rule->bytes.low;
    input->in_order = HAN_ORDER_SCATTERED != rule->order;
    input->form = HAN_FORM_COUNT == rule->form ? HAN_BLOCKING : rule->form;
    if (HAN_COLLECTIVE_COUNT == input->collective || rule->nodes.low != rule->nodes.high
        || rule->ppn.low != rule->ppn.high || rule->bytes.low != rule->bytes.high) {
        rc = bad_use("explain wants one collective, and one number each for --nodes, --ppn, --bytes", "");
    }
    mca_coll_han_rules_free(&rules);
    return rc;
}

/*
 * "--NAME VALUE" and one file, of a command: fills values by the names' places.
 *
 * @param names NULL behind the last
 */
static int read_options(const char *command, const char *const names[], const char *values[], const char **path,
                        int count, char **arguments)
{
    char what[64];

    for (int i = 0; i < count; ++i) {
        int option = 0;

        while (NULL != names[option] && 0 != strcmp(names[option], arguments[i])) {
            ++option;
        }
        if (NULL != names[option]) {
            if (i + 1 == count) {
                return bad_use(arguments[i], " wants a value");
            }
            values[option] = arguments[++i];
        } else if ('-' == arguments[i][0] || NULL != *path) {
            snprintf(what, sizeof(what), "%s %s ", command,
                     '-' == arguments[i][0] ? "has no option" : "wants one file, and there is also");
            return bad_use(what, arguments[i]);
        } else {
            *path = arguments[i];
        }
    }
    return GOOD;
}

static int read_machine(const char *path, mca_coll_han_machine_t *machine)
{
    mca_coll_han_text_error_t error;

    if (0 != mca_coll_han_machine_read(machine, path, &error)) {
        tell(path, &error);
        return BAD_FILE;
    }
    return GOOD;
}

/* As coll_han_machine has it; sets its name, NULL: none. */
static int choose_machine(const char *word, mca_coll_han_machine_t *machine, const char **name)
{
    *name = word;
    if (0 == strcmp("auto", word)) {
        mca_coll_han_classes_machine(machine, &(mca_coll_han_facts_t){ 0 });
        *name = "TCP at 20 Gbit/s (coll_han_verbose 1 tells which machine yours is, --machine FILE takes it)";
    } else if (0 == strcmp("none", word)) {
        *name = NULL;
    } else {
        return read_machine(word, machine);
    }
    return GOOD;
}

static int run_explain(int count, char **arguments)
{
    enum { COLLECTIVE, NODES, PPN, BYTES, ORDER, FORM, NEEDED, MACHINE = NEEDED, OPTIONS };
    static const char *const options[OPTIONS + 1]
        = { "--collective", "--nodes", "--ppn", "--bytes", "--order", "--form", "--machine", NULL };
    const char *values[OPTIONS] = { [ORDER] = "consecutive", [FORM] = "blocking", [MACHINE] = "auto" };
    const char *path = NULL, *name = NULL;
    mca_coll_han_machine_t machine;
    mca_coll_han_input_t input;
    int rc = read_options("explain", options, values, &path, count, arguments);

    for (int option = 0; option < NEEDED && GOOD == rc; ++option) {
        rc = NULL == values[option] ? bad_use("explain wants ", options[option]) : GOOD;
    }
    rc = GOOD == rc ? read_input(&input, values) : rc;
    rc = GOOD == rc ? choose_machine(values[MACHINE], &machine, &name) : rc;
    return GOOD == rc ? explain(path, name, &machine, &input) : rc;
}

static bool is_shape(const char *word)
{
    static const char digits[] = "0123456789";
    const size_t nodes = strspn(word, digits), ppn = 'x' == word[nodes] ? strspn(word + nodes + 1, digits) : 0;

    return 0 < nodes && 0 < ppn && '\0' == word[nodes + 1 + ppn] && '0' != word[0] && '0' != word[nodes + 1];
}

static int run_regret(int count, char **arguments)
{
    enum { MACHINE, SHAPE, RATE, SHOW, OPTIONS };
    static const char *const options[OPTIONS + 1] = { "--machine", "--shape", "--rate", "--show", NULL };
    const char *values[OPTIONS] = { [SHOW] = "far" }, *path = NULL;
    mca_coll_han_machine_t machine;
    int rc = read_options("regret", options, values, &path, count, arguments);

    if (GOOD == rc && (NULL == path || NULL == values[MACHINE])) {
        rc = bad_use("regret wants ", NULL == path ? "a table of candidates" : "--machine");
    }
    if (GOOD == rc && 0 != strcmp("far", values[SHOW]) && 0 != strcmp("all", values[SHOW])) {
        rc = bad_use("--show wants far or all, not ", values[SHOW]);
    }
    if (GOOD == rc && NULL != values[SHAPE] && !is_shape(values[SHAPE])) {
        rc = bad_use("--shape wants nodes and ranks of each, as 4x4, not ", values[SHAPE]);
    }
    rc = GOOD == rc ? read_machine(values[MACHINE], &machine) : rc;
    return GOOD == rc ? regret(path, &machine, values[SHAPE], values[RATE], 0 == strcmp("all", values[SHOW])) : rc;
}

/* -- main -- */

static int run_check(int count, char **arguments)
{
    int rc = 0 == count ? bad_use("check wants a file", "") : GOOD;

    for (int i = 0; i < count; ++i) {
        rc = GOOD != check(arguments[i]) ? BAD_FILE : rc;
    }
    return rc;
}

static int run_convert(int count, char **arguments)
{
    return 1 != count ? bad_use("convert wants one file", "") : convert(arguments[0]);
}

static int run_builtin(int count, char **arguments)
{
    if (0 != count) {
        return bad_use("builtin wants no ", arguments[0]);
    }
    fputs(mca_coll_han_builtin, stdout);
    return GOOD;
}

static int run_help(int count, char **arguments)
{
    (void) count;
    (void) arguments;
    usage(stdout);
    return GOOD;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int count, char **arguments);
    } commands[] = { { "check", run_check },   { "explain", run_explain }, { "convert", run_convert },
                     { "regret", run_regret }, { "builtin", run_builtin }, { "--help", run_help },
                     { "-h", run_help } };
    int rc = BAD_USE;
    size_t i = 0;

    tool_version(argc, argv, "han_rules");
    while (sizeof(commands) / sizeof(commands[0]) > i && (2 > argc || 0 != strcmp(commands[i].name, argv[1]))) {
        ++i;
    }
    if (2 > argc) {
        usage(stderr);
    } else if (sizeof(commands) / sizeof(commands[0]) == i) {
        rc = bad_use("there is no command ", argv[1]);
    } else {
        rc = commands[i].run(argc - 2, argv + 2);
    }
    if (0 != fflush(stdout) || 0 != ferror(stdout)) {
        fprintf(stderr, "han_rules: the output cannot be written\n");
        rc = BAD_FILE;
    }
    return rc;
}
