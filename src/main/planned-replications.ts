// References to other clusters and replications of a first start: their rules, and how they are made once the other cluster answers.
import { type RestFields, type RestTarget, refusal, rest } from '#client/rest.adapter.ts';
import { readReferenceForm } from '#cluster/xdcr/reference-form.ts';
import { readSettings } from '#cluster/xdcr/replication-settings.ts';
import { realClock } from '#ports/clock.ts';
import type { InitPlan, PlannedReplication } from './init-plan.ts';

/** Clusters that start at the same time wait for each other. */
const waitMs = 120_000;
const pollEveryMs = 500;
/** Refusals of a cluster or bucket that does not exist yet: it may be created meanwhile. */
const retryable = /Could not connect|Failed to resolve|not initialized|target bucket .* doesn't exist/;
/** An interrupted first start has created it. */
const alreadyExists = /already exists|Duplicate cluster names/;

export interface PlanProblem {
  readonly place: string;
  readonly text: string;
}

/** Violations of the REST API's rules, found without requests to the other clusters. */
export async function replicationProblems(plan: InitPlan): Promise<PlanProblem[]> {
  const { remoteClusters, replications } = plan;
  const problems: PlanProblem[] = [];
  const add = (place: string, text: string) => problems.push({ place, text });
  for (const [index, fields] of remoteClusters.entries()) {
    try {
      readReferenceForm(fields);
    } catch (error) {
      add(`remoteClusters.${index}`, (error as Error).message);
    }
    if (remoteClusters.findIndex(({ name }) => name === fields.name) < index)
      add(`remoteClusters.${index}.name`, `"${fields.name}" is listed twice`);
  }
  for (const [index, replication] of replications.entries()) {
    const place = `replications.${index}`;
    const { fromBucket, toCluster, parameters } = replication;
    if (!plan.buckets.some(({ name }) => name === fromBucket) && plan.restore === null)
      add(`${place}.fromBucket`, `"${fromBucket}": neither the init file nor --bucket creates this bucket`);
    if (!remoteClusters.some(({ name }) => name === toCluster))
      add(`${place}.toCluster`, `"${toCluster}" is not among remoteClusters`);
    const { problems: settingProblems } = await readSettings(parameters);
    for (const [name, text] of Object.entries(settingProblems)) add(`${place}.parameters.${name}`, text);
  }
  return problems;
}

/** `errorAt` makes an error that names the place. */
export async function makeReplications(
  target: RestTarget,
  plan: InitPlan,
  errorAt: (place: string, text: string) => Error,
): Promise<void> {
  const make = async (place: string, path: string, fields: RestFields) => {
    const problem = await createWithRetries(target, path, fields);
    if (problem !== null) throw errorAt(place, problem);
  };
  for (const [index, fields] of plan.remoteClusters.entries())
    await make(`remoteClusters.${index}`, '/pools/default/remoteClusters', fields);
  for (const [index, replication] of plan.replications.entries())
    await make(`replications.${index}`, '/controller/createReplication', formOf(replication));
}

const formOf = ({ fromBucket, toCluster, toBucket, parameters }: PlannedReplication): RestFields => ({
  ...parameters,
  fromBucket,
  toCluster,
  toBucket,
  replicationType: 'continuous',
});

/** Resolves with the reason why it cannot be created; null: it exists now. */
async function createWithRetries(
  target: RestTarget,
  path: string,
  fields: RestFields,
): Promise<string | null> {
  const deadlineMs = realClock.monotonicMs() + waitMs;
  for (;;) {
    const answer = await rest(target, 'POST', path, fields);
    if (answer.status < 300 || alreadyExists.test(answer.body)) return null;
    if (!retryable.test(answer.body) || realClock.monotonicMs() >= deadlineMs)
      return refusal('POST', path, answer).message;
    await realClock.sleep(pollEveryMs);
  }
}
