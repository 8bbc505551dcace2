// Runs range queries over the node's store, limited to series that the caller may read, within a time limit.
import type { Clock } from '#ports/clock.ts';
import type { Row } from '../query/combine.ts';
import { applyStep } from '../query/combine.ts';
import { derive, derivedAsked, sourcesOf } from '../query/derived.ts';
import { evaluate, momentsOf, neededFromMs } from '../query/evaluate.ts';
import { type Plan, planOf, stepOf } from '../query/plan.ts';
import type { Labels, Matcher, Selection } from '../sample.ts';
import { type RangeAnswer, valueText } from './range.contract.ts';
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

export interface Asker {
  /** The name of this node in answers. */
  readonly node: string;
  visible(labels: Labels): boolean;
}

/** Steps per series; the limit of Prometheus. */
const momentsLimit = 11_000;
const valuesLimit = 2_000_000;
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

  async answer(request: RangeRequest, asker: Asker): Promise<RangeAnswer> {
    const head = { startTimestamp: request.startMs / 1000, endTimestamp: request.endMs / 1000 };
    const failed = (error: string) => ({ data: [], errors: [{ node: asker.node, error }], ...head });
    const plan = planOf(request.functions);
    if ('problem' in plan) return failed(plan.problem);
    if (momentsOf(request) > momentsLimit)
      return failed(`more than ${momentsLimit} values of each series: use a larger step`);
    try {
      const { rows, problems } = await this.#inTime(request, this.#run(request, plan, asker));
      const errors = problems.map((error) => ({ node: asker.node, error }));
      return { data: rows.map((row) => seriesOf(row, request, asker.node)), errors, ...head };
    } catch (error) {
      return failed(
        error instanceof Refused ? error.message : `Unexpected error - ${(error as Error).message}`,
      );
    }
  }

  async #run(request: RangeRequest, plan: Plan, asker: Asker): Promise<{ rows: Row[]; problems: string[] }> {
    const { rows, problems } = await this.#rows(request, plan, asker);
    const across = request.aggregation === null ? null : stepOf(request.aggregation);
    // With one node there is one result: combining nodes changes nothing except for histograms.
    return { rows: across?.kind === 'quantile' ? applyStep(rows, across) : rows, problems };
  }

  async #rows(request: RangeRequest, plan: Plan, asker: Asker): Promise<{ rows: Row[]; problems: string[] }> {
    const asked = derivedAsked(request.matchers);
    if (!asked) {
      const { series, problems } = await this.#select(request.matchers, request, plan, asker);
      if (series.length > 0) return { rows: evaluate(plan, series, request), problems: [...problems] };
      return { rows: [], problems: [...problems, ...(await this.#unknown(request))] };
    }
    const found: Selection[] = [];
    for (const { matchers } of sourcesOf(asked.name))
      found.push(await this.#select([...matchers, ...asked.rest], request, plan, asker));
    const series = found.map((one) => one.series);
    const problems = new Set(found.flatMap((one) => one.problems));
    return { rows: derive(asked.name, plan, series, request), problems: [...problems] };
  }

  async #select(
    matchers: readonly Matcher[],
    request: RangeRequest,
    plan: Plan,
    asker: Asker,
  ): Promise<Selection> {
    const visible = (labels: Labels) => asker.visible(labels);
    const options = { enoughMs: enoughOf(request, plan), visible };
    const found = await this.#source.select(matchers, neededFromMs(plan, request), request.endMs, options);
    if (found.series.length * momentsOf(request) > valuesLimit)
      throw new Refused(`more than ${valuesLimit} values: ask for fewer series or use a larger step`);
    return found;
  }

  /** Explains an empty result: unknown metric, or a label that the metric does not have. */
  async #unknown({ matchers, endMs }: RangeRequest): Promise<string[]> {
    const name = matchers.find(({ label, operator }) => label === '__name__' && operator === '=');
    if (!name) return [];
    const { series } = await this.#source.select(
      [name],
      Math.min(endMs, this.#clock.wallMs()) - newestMs,
      endMs,
      {},
    );
    if (series.length === 0) return [`unknown metric "${name.value}"`];
    return matchers
      .filter(({ label, value }) => value !== '' && series.every(({ labels }) => labels[label] === undefined))
      .map(({ label }) => `metric "${name.value}" has no label "${label}"`);
  }

  async #inTime<T>({ timeoutMs }: RangeRequest, work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const timer = this.#clock.after(timeoutMs, () => reject(new Refused('Request timed out')));
    try {
      return await Promise.race([work, promise]);
    } finally {
      timer.cancel();
    }
  }
}

class Refused extends Error {
  override name = 'Refused';
}

/** Over days and with large steps the five-minute samples are sufficient. */
function enoughOf({ startMs, endMs, stepMs, windowMs }: RangeRequest, { window }: Plan): number {
  if (endMs - startMs <= longMs) return 0;
  return window === null ? stepMs : Math.min(stepMs, windowMs / 2);
}

function seriesOf(
  { labels, values, has }: Row,
  { startMs, stepMs }: RangeRequest,
  node: string,
): RangeAnswer['data'][number] {
  const { __name__: name, ...rest } = labels;
  const shown: [number, string][] = [];
  for (let at = 0; at < has.length; at++) {
    if (has[at] === 1) shown.push([(startMs + at * stepMs) / 1000, valueText(values[at] as number)]);
  }
  return { metric: { nodes: [node], ...(name !== undefined && { name }), ...rest }, values: shown };
}
