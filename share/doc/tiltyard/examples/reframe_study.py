"""A study of Tiltyard as a check of ReFrame: it passes where nothing is worse than a margin.

    reframe -c reframe_study.py -r -S study=/path/to/study.toml -S within='3%'

The verdict is that of `tiltyard gate`; the difference of each headline in % is a performance
variable. The study is run where the check is: on the node of the job. A study that has a
[placement] of its own asks for nodes itself; run its check on the partition of the login node.
"""

import json
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import run_before, sanity_function, variable


@rfm.simple_test
class TiltyardStudy(rfm.RunOnlyRegressionTest):
    """One study; `-S study=FILE` says which."""

    study = variable(str)
    within = variable(str, value="3%")
    tiltyard = variable(str, value="tiltyard")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    time_limit = "24h"

    @run_before("run")
    def judge(self):
        """The command; its own exit code is kept, as some schedulers do not tell it."""
        self.executable = self.tiltyard
        self.executable_opts = ["gate", f"'{self.study}'", "--within", f"'{self.within}'",
                                "--trust", "--json"]  # fmt: skip
        self.postrun_cmds = ['echo "exit $?" >&2']

    @sanity_function
    def verdict(self):
        """Passed; else the verdict and what is said of it."""
        code = sn.evaluate(sn.extractsingle(r"^exit (\d+)$", self.stderr, 1, int))
        told = {3: "the host lacks something", 5: "invalid: too many trials failed",
                6: "undecided within the blocks of the study", 7: "regression"}  # fmt: skip
        why = told.get(code, f"exit code {code} of tiltyard gate")
        return sn.assert_eq(code, 0, msg=f"{why}: see rfm_job.out and rfm_job.err")

    @run_before("performance")
    def ratios(self):
        """One figure for each headline that has an interval."""
        said = Path(self.stagedir, sn.evaluate(self.stdout)).read_text()
        for line in json.loads(said)["headlines"]:
            if line["ratio"] is not None:
                name = f"{line['system']}, {line['workload']} {line['name']}"
                percent = sn.defer(100 * (line["ratio"] - 1))
                self.perf_variables[name] = sn.make_performance_function(percent, "%")
