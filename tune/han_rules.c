/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * han_rules: checks and explains files of rules (docs/rules.md), with the parser and the lookup of the component
 * itself, and converts files of Open MPI's own HAN.
 */
#include "han_rules.h"

#include "coll_han_choice.h"
#include "coll_han_classes.h"
#include "common/tool_version.h"
#include "tune.h"
#include "tune_options.h"

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
        "      any candidate has; where there is no time to tell, a built-in rule. K, M, G may follow bytes. ORDER:\n"
        "      consecutive (the default: every node holds consecutive ranks), scattered. FORM: blocking (the\n"
        "      default), nonblocking, persistent. --machine is as coll_han_machine: a FILE with a machine; none is\n"
        "      TCP at 40 Gbit/s; auto (the default) is the one in the file of rules, else none, for nothing is\n"
        "      measured here.\n"
        "\n"
        "  han_rules builtin\n"
        "      Prints the built-in rules: what is not the model's choice.\n"
        "\n"
        "  han_rules convert FILE\n"
        "      Prints a file of rules of Open MPI's own HAN as rules of this one.\n"
        "\n"
        "  han_rules predict PARAMETERS... --machine FILE --collective NAME --nodes N --ppn N --bytes N\n"
        "      [--order ORDER] [--form FORM]\n"
        "      What the model says that a call takes on that machine by each of some PARAMETERS, as in the column\n"
        "      \"algorithm\" of bench/candidates: 'tree ibalg=binary ibs=32K', 'groups ibalg=linear groups=8'.\n"
        "\n"
        "  han_rules regret CSV [--machine FILE] [--rules FILE] [--shape NODESxPPN] [--rate WORD] [--show WHICH]\n"
        "      How good the model's choice would be on that machine: what its picks take over what the best candidate\n"
        "      takes, by a table of bench/candidates; of lines with that shape and rate only. WHICH: far (the\n"
        "      default) shows each pick that takes more than 1.25 of the best one, all shows every pick. With\n"
        "      --rules: how good that file's choice is, and the model's where it leaves a call to it, for the\n"
        "      machine in the file, or --machine. By both clocks a choice is behind by the worse of its two ratios\n"
        "      to the best, over what that is for the candidate for which it is least.\n"
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
    tune_complain("%s%s; --help tells more", what, which);
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

static int read_rules(const char *path, mca_coll_han_rules_t *rules)
{
    mca_coll_han_rules_error_t error;

    if (0 != mca_coll_han_rules_read(rules, path, &error)) {
        tell(path, &error);
        return BAD_FILE;
    }
    return GOOD;
}

/* -- check -- */

static int check(const char *path)
{
    mca_coll_han_rules_t rules;
    uint64_t collectives = 0;

    if (GOOD != read_rules(path, &rules)) {
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
    printf("; machine: %s%s\n", NULL == rules.machine ? "not said" : rules.machine,
           0 == rules.numbers.hash ? "" : "; its numbers are there");
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
    const mca_coll_han_params_t params = mca_coll_han_decide(input, &rule->params, &mca_coll_han_unset);
    char text[HAN_RULES_TEXT];

    printf("decides  %s\n         %s\n", params.why, mca_coll_han_params_format(&params, text, sizeof(text)));
}

/* Why the rule of a file does not decide a call; NULL where it does (mca_coll_han_rule_decides). */
static const char *why_left(const mca_coll_han_rule_t *rule, const mca_coll_han_input_t *input)
{
    return NULL == rule                                        ? "there is no rule for this collective, form and order"
           : rule->leave                                       ? "algorithm=auto"
           : !mca_coll_han_fits(rule->params.algorithm, input) ? "the algorithm does not serve this call"
                                                               : NULL;
}

void read_builtin(mca_coll_han_rules_t *rules)
{
    mca_coll_han_rules_error_t error;

    if (0
        != mca_coll_han_rules_parse(rules, "built-in rules", mca_coll_han_builtin, strlen(mca_coll_han_builtin),
                                    &error)) {
        tell("built-in rules", &error);
        exit(BAD_FILE);
    }
}

/* The rule that decides where no file does, nor the model. */
static void explain_builtin(const mca_coll_han_input_t *input)
{
    mca_coll_han_rules_t builtin;

    read_builtin(&builtin);
    explain_decision(explain_table(&builtin, input), input);
    mca_coll_han_rules_free(&builtin);
}

/* The model decides, or (`decides` false) shows what it would. */
static void explain_model(const char *name, const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input,
                          bool decides)
{
    char text[HAN_CHOICE_TEXT];

    if (decides) {
        printf("decides  the model, for %s\n", name);
    }
    fputs(need(mca_coll_han_choice_best(machine, input, text)), stdout);
}

/*
 * @param rules of a file; NULL: there is none
 * @param machine_name of the machine, for which the model decides where the file does not
 */
static void explain(const mca_coll_han_rules_t *rules, const char *machine_name, const mca_coll_han_machine_t *machine,
                    const mca_coll_han_input_t *input)
{
    const mca_coll_han_input_t known = tune_known(*input);
    const bool model = mca_coll_han_choice_serves(input);
    const mca_coll_han_rule_t *rule = NULL;
    const char *why;

    printf("%s of %zu bytes%s on %d nodes, %d ranks per node, %s\n", mca_coll_han_collective_names[input->collective],
           input->bytes, tune_knows_bytes(input->collective) ? "" : ", which not all ranks know (0 in rules),", input->nodes, input->ppn,
           input->in_order ? "consecutive" : "scattered");
    if (NULL != rules) {
        rule = explain_table(rules, &known);
    }
    why = why_left(rule, &known);
    if (NULL == why) {
        explain_decision(rule, &known);
    } else if (NULL != rules) {
        printf("left     to the %s: %s\n", model ? "model" : "built-in rules", why);
    }
    if (model) {
        explain_model(machine_name, machine, input, NULL != why);
    } else if (NULL != why) {
        explain_builtin(&known);
    }
}

/* -- options -- */

/* Of all commands; a value each. */
enum {
    FILE_NAME = TUNE_WORD,
    COLLECTIVE = TUNE_OPTION,
    NODES,
    PPN,
    BYTES,
    ORDER,
    FORM,
    MACHINE,
    RULES,
    SHAPE,
    RATE,
    SHOW,
    OPTIONS
};

/* What is accepted, for who writes something else; the parser of rules says it of what a rule has, too. */
static const char *const accepted[]
    = { [FILE_NAME] = "one file", [SHAPE] = "nodes and ranks of each, as 4x4", [SHOW] = "far, all" };

static bool is_shape(const char *word)
{
    static const char digits[] = "0123456789";
    const size_t nodes = strspn(word, digits), ppn = 'x' == word[nodes] ? strspn(word + nodes + 1, digits) : 0;

    return 0 < nodes && 0 < ppn && '\0' == word[nodes + 1 + ppn] && '0' != word[0] && '0' != word[nodes + 1];
}

static bool is_all(const char *show)
{
    return 0 == strcmp("all", show);
}

static bool take_value(void *context, int number, const char *text)
{
    const char **values = context;
    const bool good = SHAPE == number  ? is_shape(text)
                      : SHOW == number ? is_all(text) || 0 == strcmp("far", text)
                                       : FILE_NAME != number || NULL == values[FILE_NAME];

    values[number] = text;
    return good;
}

/* Of a command, which is argv[0]: fills values by the options' numbers. */
static int read_options(int argc, char **argv, const struct option *names, const char **values)
{
    return 0 == tune_read_options(argc, argv, names, accepted, values, take_value) ? GOOD : BAD_USE;
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
             HAN_RULES_VERSION, values[COLLECTIVE], values[NODES], values[PPN], values[BYTES], values[ORDER],
             values[FORM]);
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
        rc = bad_use("one collective is wanted, and one number each for --nodes, --ppn, --bytes", "");
    }
    mca_coll_han_rules_free(&rules);
    return rc;
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

/* As coll_han_machine has it, where these rules are used; sets its name. */
static int choose_machine(const char *word, const char *path, const mca_coll_han_rules_t *rules,
                          mca_coll_han_machine_t *machine, const char **name)
{
    const bool is_auto = 0 == strcmp("auto", word);

    *name = word;
    if (is_auto && 0 != rules->numbers.hash) {
        *machine = rules->numbers;
        *name = path;
    } else if (is_auto || 0 == strcmp("none", word)) {
        mca_coll_han_classes_machine(machine, &(mca_coll_han_facts_t){ 0 });
        *name = "TCP at 40 Gbit/s (coll_han_verbose 1 tells which machine yours is, --machine FILE takes it)";
    } else {
        return read_machine(word, machine);
    }
    return GOOD;
}

/* A call, and a machine for it. */
static const struct option call_names[] = { { "collective", required_argument, NULL, COLLECTIVE },
                                            { "nodes", required_argument, NULL, NODES },
                                            { "ppn", required_argument, NULL, PPN },
                                            { "bytes", required_argument, NULL, BYTES },
                                            { "order", required_argument, NULL, ORDER },
                                            { "form", required_argument, NULL, FORM },
                                            { "machine", required_argument, NULL, MACHINE },
                                            { NULL, 0, NULL, 0 } };

/* All of the options are there, and the call is one. */
static int read_call(const char *command, const char *const values[], mca_coll_han_input_t *input)
{
    for (int i = 0; NULL != call_names[i].name; ++i) {
        if (NULL == values[call_names[i].val]) {
            tune_complain("%s wants --%s; --help tells more", command, call_names[i].name);
            return BAD_USE;
        }
    }
    return read_input(input, values);
}

static int run_explain(int argc, char **argv)
{
    const char *values[OPTIONS] = { [ORDER] = "consecutive", [FORM] = "blocking", [MACHINE] = "auto" }, *name = NULL;
    mca_coll_han_machine_t machine;
    mca_coll_han_input_t input;
    mca_coll_han_rules_t rules = { .count = 0 };
    int rc = read_options(argc, argv, call_names, values);
    const char *const path = values[FILE_NAME];

    rc = GOOD == rc ? read_call(argv[0], values, &input) : rc;
    rc = GOOD == rc && NULL != path ? read_rules(path, &rules) : rc;
    rc = GOOD == rc ? choose_machine(values[MACHINE], path, &rules, &machine, &name) : rc;
    if (GOOD == rc) {
        explain(NULL == path ? NULL : &rules, name, &machine, &input);
    }
    mca_coll_han_rules_free(&rules);
    return rc;
}

/* Words are parameters; all else is as of explain. */
struct wishes {
    const char *values[OPTIONS];
    const char **texts; /* [count] */
    int count;
};

static bool take_wish(void *context, int number, const char *text)
{
    struct wishes *wishes = context;

    if (FILE_NAME == number) {
        wishes->texts[wishes->count++] = text;
        return true;
    }
    return take_value(wishes->values, number, text);
}

static int run_predict(int argc, char **argv)
{
    struct wishes wishes = { .values = { [ORDER] = "consecutive", [FORM] = "blocking" },
                             .texts = need(calloc((size_t) argc, sizeof(*wishes.texts))) };
    mca_coll_han_machine_t machine;
    mca_coll_han_input_t input;
    int rc = 0 == tune_read_options(argc, argv, call_names, accepted, &wishes, take_wish) ? GOOD : BAD_USE;

    rc = GOOD == rc ? read_call(argv[0], wishes.values, &input) : rc;
    if (GOOD == rc && 0 == wishes.count) {
        rc = bad_use("predict wants parameters, as 'tree ibalg=binary ibs=32K'", "");
    }
    rc = GOOD == rc ? read_machine(wishes.values[MACHINE], &machine) : rc;
    rc = GOOD == rc ? predict(&machine, &input, wishes.texts, wishes.count) : rc;
    free(wishes.texts);
    return rc;
}

static int run_regret(int argc, char **argv)
{
    static const struct option names[]
        = { { "machine", required_argument, NULL, MACHINE }, { "rules", required_argument, NULL, RULES },
            { "shape", required_argument, NULL, SHAPE },     { "rate", required_argument, NULL, RATE },
            { "show", required_argument, NULL, SHOW },       { NULL, 0, NULL, 0 } };
    const char *values[OPTIONS] = { [SHOW] = "far" };
    mca_coll_han_machine_t machine;
    mca_coll_han_rules_t rules = { .count = 0 };
    int rc = read_options(argc, argv, names, values);

    if (GOOD == rc && NULL == values[FILE_NAME]) {
        rc = bad_use("regret wants ", "a table of candidates");
    }
    if (GOOD == rc && NULL != values[RULES]) {
        rc = read_rules(values[RULES], &rules);
    }
    if (GOOD == rc && NULL != values[MACHINE]) {
        rc = read_machine(values[MACHINE], &machine);
    } else if (GOOD == rc) {
        machine = rules.numbers;
        rc = 0 == rules.numbers.hash ? bad_use("regret wants ", "--machine, or --rules with a machine in its file")
                                     : rc;
    }
    rc = GOOD == rc ? regret(&(struct regret_wish){ .path = values[FILE_NAME],
                                                    .shape = values[SHAPE],
                                                    .rate = values[RATE],
                                                    .machine = &machine,
                                                    .rules = NULL == values[RULES] ? NULL : &rules,
                                                    .all = is_all(values[SHOW]) })
                    : rc;
    mca_coll_han_rules_free(&rules);
    return rc;
}

/* -- main -- */

static int run_check(int argc, char **argv)
{
    int rc = 1 == argc ? bad_use("check wants a file", "") : GOOD;

    for (int i = 1; i < argc; ++i) {
        rc = GOOD != check(argv[i]) ? BAD_FILE : rc;
    }
    return rc;
}

static int run_convert(int argc, char **argv)
{
    return 2 != argc ? bad_use("convert wants one file", "") : convert(argv[1]);
}

static int run_builtin(int argc, char **argv)
{
    if (1 != argc) {
        return bad_use("builtin wants no ", argv[1]);
    }
    fputs(mca_coll_han_builtin, stdout);
    return GOOD;
}

static bool ask_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc; ++i) {
        if (0 == strcmp("--help", argv[i]) || 0 == strcmp("-h", argv[i])) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv); /* argv[0] is the name */
    } commands[] = { { "check", run_check },     { "explain", run_explain }, { "convert", run_convert },
                     { "predict", run_predict }, { "regret", run_regret },   { "builtin", run_builtin } };
    int rc = BAD_USE;
    size_t i = 0;

    tool_version(argc, argv, "han_rules");
    tune_options_speaker("han_rules", 0);
    while (sizeof(commands) / sizeof(commands[0]) > i && (2 > argc || 0 != strcmp(commands[i].name, argv[1]))) {
        ++i;
    }
    if (2 > argc) {
        usage(stderr);
    } else if (sizeof(commands) / sizeof(commands[0]) == i && !ask_for_help(1, argv + 1)) {
        rc = bad_use("there is no command ", argv[1]);
    } else if (ask_for_help(argc - 1, argv + 1)) {
        usage(stdout);
        rc = GOOD;
    } else {
        rc = commands[i].run(argc - 1, argv + 1);
    }
    return tune_finish(rc, BAD_FILE);
}
