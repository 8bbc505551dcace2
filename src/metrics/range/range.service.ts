// Runs range queries over the node's store, limited to series that the caller may read, within a time limit.
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import type { Row } from '../query/combine.ts';
import { applyStep } from '../query/combine.ts';
import { derivedQuery, derivedRows, sourcesOf } from '../query/derived.ts';
import { evaluateInSteps, neededFromMs, stepsIn } from '../query/evaluate.ts';
import { type Plan, planOf, stepOf } from '../query/plan.ts';
import type { Labels, Matcher, Selection } from '../sample.ts';
import { type RangeAnswer, valueText } from './range.contract.ts';
import { QueryRefused, type RangeBudget } from './range-budget.ts';
import type { RangeRequest } from './range-request.ts';

/** The part of the store that range queries use. */
export interface RangeSource {
  select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    options: { enoughMs?: number; visible?: (labels: Labels) => boolean },
  ): Promise<Selection>;
}

export interface RangeCaller {
  /** The name of this node in answers. */
  readonly node: string;
  visible(labels: Labels): boolean;
  /** The remaining limits of the caller's request. */
  readonly budget: RangeBudget;
}

interface Rows {
  rows: Row[];
  problems: string[];
}

/** Steps per series; the limit of Prometheus. */
const stepsMax = 11_000;
/** Up to this length a query always reads ten-second samples. */
const longMs = 2 * 86_400_000;
/** The interval searched for a metric before it is reported as unknown. */
const newestMs = 3_600_000;

export class RangeService {
  readonly #source: RangeSource;
  readonly #clock: Clock;

  constructor({ source, clock }: { source: RangeSource; clock: Clock }) {
    this.#source = source;
    this.#clock = clock;
  }

  /** The JSON of a RangeAnswer, built series by series: as objects a large answer would take many times its size. */
  async answer(request: RangeRequest, caller: RangeCaller): Promise<string> {
    const head = { startTimestamp: request.startMs / 1000, endTimestamp: request.endMs / 1000 };
    const failed = (error: string) => jsonOf([], [{ node: caller.node, error }], head);
    const plan = planOf(request.functions);
    if ('problem' in plan) return failed(plan.problem);
    if (stepsIn(request) > stepsMax)
      return failed(`more than ${stepsMax} values of each series: use a larger step`);
    try {
      const { rows, problems } = await this.#inTime(request, this.#run(request, plan, caller));
      const errors = problems.map((error) => ({ node: caller.node, error }));
      return jsonOf(await textsOf(rows, request, caller), errors, head);
    } catch (error) {
      return failed(
        error instanceof QueryRefused ? error.message : `Unexpected error - ${(error as Error).message}`,
      );
    }
  }

  async #run(request: RangeRequest, plan: Plan, caller: RangeCaller): Promise<Rows> {
    const { rows, problems } = await this.#rows(request, plan, caller);
    const across = request.aggregation === null ? null : stepOf(request.aggregation);
    // There is only the result of this node: combining it changes nothing except a histogram.
    return { rows: across?.kind === 'quantile' ? applyStep(rows, across) : rows, problems };
  }

  async #rows(request: RangeRequest, plan: Plan, caller: RangeCaller): Promise<Rows> {
    const derived = derivedQuery(request.matchers);
    const { budget } = caller;
    if (!derived) {
      const { series, problems } = await this.#select(request.matchers, request, plan, caller);
      if (series.length > 0)
        return { rows: await budget.run(evaluateInSteps(plan, series, request)), problems: [...problems] };
      return { rows: [], problems: [...problems, ...(await this.#unknown(request, caller))] };
    }
    const found: Selection[] = [];
    for (const { matchers } of sourcesOf(derived.name))
      found.push(await this.#select([...matchers, ...derived.rest], request, plan, caller));
    const series = found.map((selection) => selection.series);
    const problems = new Set(found.flatMap((selection) => selection.problems));
    return {
      rows: await budget.run(derivedRows(derived.name, plan, series, request)),
      problems: [...problems],
    };
  }

  async #select(
    matchers: readonly Matcher[],
    request: RangeRequest,
    plan: Plan,
    caller: RangeCaller,
  ): Promise<Selection> {
    const visible = (labels: Labels) => caller.visible(labels);
    const options = { enoughMs: sufficientIntervalMs(request, plan), visible };
    const interval = { fromMs: neededFromMs(plan, request), toMs: request.endMs };
    const found = await this.#read(matchers, interval, options, caller);
    caller.budget.take('values', found.series.length * stepsIn(request));
    return found;
  }

  /** Refuses before reading once the request exceeds a limit. */
  async #read(
    matchers: readonly Matcher[],
    { fromMs, toMs }: { fromMs: number; toMs: number },
    options: Parameters<RangeSource['select']>[3],
    { budget }: RangeCaller,
  ): Promise<Selection> {
    budget.check();
    const found = await this.#source.select(matchers, fromMs, toMs, options);
    budget.take(
      'samples',
      found.series.reduce((sum, { timesMs }) => sum + timesMs.length, 0),
    );
    await budget.yieldIfDue();
    return found;
  }

  /** Explains an empty result: unknown metric, or a label that the metric does not have. */
  async #unknown({ matchers, endMs }: RangeRequest, caller: RangeCaller): Promise<string[]> {
    const name = matchers.find(({ label, operator }) => label === '__name__' && operator === '=');
    if (!name) return [];
    const fromMs = Math.min(endMs, this.#clock.wallMs()) - newestMs;
    const { series } = await this.#read([name], { fromMs, toMs: endMs }, {}, caller);
    if (series.length === 0) return [`unknown metric "${name.value}"`];
    return matchers
      .filter(({ label, value }) => value !== '' && series.every(({ labels }) => labels[label] === undefined))
      .map(({ label }) => `metric "${name.value}" has no label "${label}"`);
  }

  #inTime<T>({ timeoutMs }: RangeRequest, work: Promise<T>): Promise<T> {
    return within(this.#clock, timeoutMs, work, () => new QueryRefused('Request timed out'));
  }
}

/** Over days and with large steps the five-minute samples are sufficient. */
function sufficientIntervalMs({ startMs, endMs, stepMs, windowMs }: RangeRequest, { window }: Plan): number {
  if (endMs - startMs <= longMs) return 0;
  return window === null ? stepMs : Math.min(stepMs, windowMs / 2);
}

async function textsOf(rows: readonly Row[], request: RangeRequest, { node, budget }: RangeCaller) {
  const texts: string[] = [];
  for (const row of rows) {
    const text = JSON.stringify(seriesOf(row, request, node));
    budget.take('answerBytes', text.length);
    texts.push(text);
    await budget.yieldIfDue();
  }
  return texts;
}

function jsonOf(
  series: readonly string[],
  errors: RangeAnswer['errors'],
  head: Pick<RangeAnswer, 'startTimestamp' | 'endTimestamp'>,
): string {
  return `{"data":[${series.join(',')}],${JSON.stringify({ errors, ...head }).slice(1)}`;
}

function seriesOf(
  { labels, values, has }: Row,
  { startMs, stepMs }: RangeRequest,
  node: string,
): RangeAnswer['data'][number] {
  const { __name__: name, ...rest } = labels;
  const points: [number, string][] = [];
  for (let at = 0; at < has.length; at++) {
    if (has[at] === 1) points.push([(startMs + at * stepMs) / 1000, valueText(values[at] as number)]);
  }
  return { metric: { nodes: [node], ...(name !== undefined && { name }), ...rest }, values: points };
}
