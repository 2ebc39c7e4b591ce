/* SPDX-License-Identifier: BSD-3-Clause */
/* han_rules predict: what the cost model says that a call takes, by parameters that somebody has thought of. */
#include "han_rules.h"

#include <stdio.h>

#include "coll_han_candidates.h"
#include "coll_han_model.h"
#include "tune_options.h"

int predict(const mca_coll_han_machine_t *machine, const mca_coll_han_input_t *input, const char *const *texts,
            int count)
{
    printf("%12s %12s\n", "single, us", "in a row, us");
    for (int i = 0; i < count; ++i) {
        mca_coll_han_params_t params;
        mca_coll_han_times_t times;
        mca_coll_han_text_error_t error;

        if (0 != mca_coll_han_candidate_read(input->collective, texts[i], &params, &error)) {
            tune_complain("'%s': %s", texts[i], error.what);
            return BAD_USE;
        }
        params = mca_coll_han_decide(input, &params, &mca_coll_han_unset);
        if (NULL != params.why) {
            tune_complain("'%s': %s", texts[i], params.why);
            return BAD_USE;
        }
        times = mca_coll_han_predict(machine, input, &params);
        printf("%12.1f %12.1f  %s\n", 1e-6 * (double) times.single, 1e-6 * (double) times.row, texts[i]);
    }
    return GOOD;
}
