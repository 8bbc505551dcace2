// Evaluates range queries over the time series of this node, limited to series that the caller may read.
import type { Clock } from '#ports/clock.ts';
import { derivedQuery, derivedRows, sourceRows, sourcesOf } from '../query/derived.ts';
import { evaluateInSlices, neededFromMs, stepsIn } from '../query/evaluate.ts';
import type { Plan } from '../query/plan.ts';
import type { Labels, Matcher, Selection } from '../sample.ts';
import type { NodeRows, RangeCaller } from './node-rows.ts';
import type { RangeRequest } from './range-request.ts';

/** The part of the store that range queries use. */
export interface RangeSource {
  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    /** `enoughMs`: samples at this interval are sufficient; `visible`: series that the caller may read. */
    options: { enoughMs?: number; visible?: (labels: Labels) => boolean },
  ): Promise<Selection>;
}

type EvaluationCaller = Pick<RangeCaller, 'visible' | 'budget'>;

/** Up to this length a query always reads ten-second samples. */
const longMs = 2 * 86_400_000;
/** A metric is reported as unknown if it has no sample in this time before the end of the interval. */
const searchedMs = 3_600_000;

export class RangeEvaluator {
  readonly #source: RangeSource;
  readonly #clock: Clock;

  constructor({ source, clock }: { source: RangeSource; clock: Clock }) {
    this.#source = source;
    this.#clock = clock;
  }

  /** @throws RefusedQueryError above a limit of the caller's request. */
  async rows(request: RangeRequest, plan: Plan, caller: EvaluationCaller): Promise<NodeRows> {
    const derived = derivedQuery(request.matchers);
    if (derived) return await this.#derived(derived, request, plan, caller);
    const { series, problems } = await this.#select(request.matchers, request, plan, caller);
    const rows = series.length === 0 ? [] : await caller.budget.run(evaluateInSlices(plan, series, request));
    const explanations = series.length === 0 ? await this.#unknown(request, caller) : [];
    return { lists: [rows], problems, explanations };
  }

  /** Bucket, scope and collection of the series that match, each combination once. */
  async keyspaces(request: RangeRequest, plan: Plan, caller: EvaluationCaller): Promise<Labels[]> {
    const derived = derivedQuery(request.matchers);
    const selections = derived
      ? sourcesOf(derived.name).map(({ matchers }) => [...matchers, ...derived.rest])
      : [request.matchers];
    const found = new Map<string, Labels>();
    for (const matchers of selections) {
      const { series } = await this.#read(matchers, intervalOf(request, plan), {}, caller);
      for (const { labels } of series) found.set(keyspaceKey(labels), keyspaceOf(labels));
    }
    return [...found.values()];
  }

  async #derived(
    { name, rest }: { name: string; rest: readonly Matcher[] },
    request: RangeRequest,
    plan: Plan,
    caller: EvaluationCaller,
  ): Promise<NodeRows> {
    const found: Selection[] = [];
    for (const { matchers } of sourcesOf(name))
      found.push(await this.#select([...matchers, ...rest], request, plan, caller));
    const series = found.map((selection) => selection.series);
    const problems = [...new Set(found.flatMap((selection) => selection.problems))];
    const sources = await caller.budget.run(sourceRows(name, plan, series, request));
    const lists =
      request.aggregation === 'special'
        ? sources
        : [await caller.budget.run(derivedRows(name, plan, sources))];
    return { lists, problems, explanations: [] };
  }

  async #select(
    matchers: readonly Matcher[],
    request: RangeRequest,
    plan: Plan,
    caller: EvaluationCaller,
  ): Promise<Selection> {
    const visible = (labels: Labels) => caller.visible(labels);
    const options = { enoughMs: sufficientIntervalMs(request, plan), visible };
    const found = await this.#read(matchers, intervalOf(request, plan), options, caller);
    caller.budget.spend('values', found.series.length * stepsIn(request));
    return found;
  }

  /** Refuses before reading once the request exceeds a limit. */
  async #read(
    matchers: readonly Matcher[],
    { fromMs, toMs }: { fromMs: number; toMs: number },
    options: Parameters<RangeSource['select']>[3],
    { budget }: EvaluationCaller,
  ): Promise<Selection> {
    budget.check();
    const found = await this.#source.select(matchers, fromMs, toMs, options);
    budget.spend(
      'samples',
      found.series.reduce((sum, { timesMs }) => sum + timesMs.length, 0),
    );
    await budget.yieldIfDue();
    return found;
  }

  /** Explains an empty result: unknown metric, or a label that the metric does not have. */
  async #unknown({ matchers, endMs }: RangeRequest, caller: EvaluationCaller): Promise<string[]> {
    const name = matchers.find(({ label, operator }) => label === '__name__' && operator === '=');
    if (!name) return [];
    const fromMs = Math.min(endMs, this.#clock.wallMs()) - searchedMs;
    const { series } = await this.#read([name], { fromMs, toMs: endMs }, {}, caller);
    if (series.length === 0) return [`unknown metric "${name.value}"`];
    return matchers
      .filter(
        ({ label, value }) => value !== '' && !series.some(({ labels }) => Object.hasOwn(labels, label)),
      )
      .map(({ label }) => `metric "${name.value}" has no label "${label}"`);
  }
}

const intervalOf = (request: RangeRequest, plan: Plan) => ({
  fromMs: neededFromMs(plan, request),
  toMs: request.endMs,
});

/** The labels that decide who may read a series. */
export function keyspaceOf({ bucket, scope, collection }: Labels): Labels {
  return {
    ...(bucket !== undefined && { bucket }),
    ...(scope !== undefined && { scope }),
    ...(collection !== undefined && { collection }),
  };
}

export const keyspaceKey = ({ bucket, scope, collection }: Labels): string =>
  JSON.stringify([bucket ?? null, scope ?? null, collection ?? null]);

/** Over days and with large steps the five-minute samples are sufficient. */
function sufficientIntervalMs({ startMs, endMs, stepMs, windowMs }: RangeRequest, { window }: Plan): number {
  if (endMs - startMs <= longMs) return 0;
  return window === null ? stepMs : Math.min(stepMs, windowMs / 2);
}
