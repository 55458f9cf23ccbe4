"""Jobs of kgcheck.toml as a DAG of Airflow: the graph is loaded, then audited."""

from datetime import timedelta

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

HOME = "/srv/kg"
"""The folder of kgcheck.toml."""

with DAG(
    dag_id="kgcheck",
    schedule="30 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="Europe/Berlin"),
    # What was missed runs once, not once a day.
    catchup=False,
    max_active_runs=1,
    # Retries are in kgcheck.toml, where they know what is worth one; a worker that died is another matter.
    # Named, kgcheck.toml is trusted: it says who gets passwords and messages.
    default_args={
        "cwd": HOME,
        "env": {"KGCHECK_CONFIG": f"{HOME}/kgcheck.toml"},
        "append_env": True,
        "retries": 1,
        "retry_delay": timedelta(minutes=10),
    },
    tags=["kgcheck"],
) as dag:
    load = BashOperator(task_id="import", bash_command="kgcheck job run import")
    audit = BashOperator(task_id="nightly", bash_command="kgcheck job run nightly", retries=0)
    load >> audit
