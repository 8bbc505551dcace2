// Answers range queries: asks each node for its rows, within the time limit, and combines the rows.
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import { aggregated, combineBy, keyed, type Row, type Slices } from '../query/combine.ts';
import { derivedQuery, derivedRows, sumSources } from '../query/derived.ts';
import { stepsIn } from '../query/evaluate.ts';
import { aggregationOf, type Combiner, type Plan, planOf } from '../query/plan.ts';
import type { Labels } from '../sample.ts';
import type { NodeRows, RangeCaller, RangeNode } from './node-rows.ts';
import { type RangeAnswer, valueText } from './range.contract.ts';
import { type RangeBudget, RefusedQueryError } from './range-budget.ts';
import type { RangeRequest } from './range-request.ts';

/** What a node answered. */
interface NodeAnswer extends NodeRows {
  readonly node: string;
}

/** A row of the answer, and the nodes that it comes from. */
interface ShownRow {
  readonly row: Row;
  readonly nodes: readonly string[];
}

/** Steps per series; the limit of Prometheus. */
const stepsMax = 11_000;

export class RangeService {
  readonly #clock: Clock;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /**
   * The JSON of a RangeAnswer, built series by series: as objects a large answer would take many times its size.
   * The first of the nodes reports what concerns the query as a whole.
   */
  async answer(
    request: RangeRequest,
    nodes: readonly [RangeNode, ...RangeNode[]],
    caller: RangeCaller,
  ): Promise<string> {
    const head = { startTimestamp: request.startMs / 1000, endTimestamp: request.endMs / 1000 };
    const failed = (error: string) => jsonOf([], [{ node: nodes[0].name, error }], head);
    const plan = planOf(request.functions);
    if ('problem' in plan) return failed(plan.problem);
    if (stepsIn(request) > stepsMax)
      return failed(`more than ${stepsMax} values of each series: use a larger step`);
    try {
      const answers = await Promise.all(nodes.map((node) => this.#ask(node, request, plan, caller)));
      const shown = await caller.budget.run(shownRows(answers, request, plan));
      const texts = await textsOf(shown, request, caller.budget);
      return jsonOf(texts, errorsOf(answers), head);
    } catch (error) {
      return failed(errorText(error));
    }
  }

  /** A node that does not answer in time, or with an error, has no rows and a problem. */
  async #ask(node: RangeNode, request: RangeRequest, plan: Plan, caller: RangeCaller): Promise<NodeAnswer> {
    try {
      const { timeoutMs } = request;
      const late = () => new RefusedQueryError('Request timed out');
      const found = await within(this.#clock, timeoutMs, node.rows(request, plan, caller), late);
      return { node: node.name, ...found };
    } catch (error) {
      return { node: node.name, lists: [], problems: [errorText(error)], explanations: [] };
    }
  }
}

const errorText = (error: unknown): string =>
  error instanceof RefusedQueryError ? error.message : `Unexpected error - ${(error as Error).message}`;

/** Explanations of missing series are part of the answer only if no node has a series. */
function errorsOf(answers: readonly NodeAnswer[]): RangeAnswer['errors'] {
  const hasRows = answers.some(({ lists }) => lists.some((rows) => rows.length > 0));
  return answers.flatMap(({ node, problems, explanations }) =>
    [...problems, ...(hasRows ? [] : explanations)].map((error) => ({ node, error })),
  );
}

function* shownRows(
  answers: readonly NodeAnswer[],
  request: RangeRequest,
  plan: Plan,
): Slices<readonly ShownRow[]> {
  const { aggregation, matchers } = request;
  if (aggregation === null)
    return answers.flatMap(({ node, lists }) =>
      lists.flatMap((rows) => rows.map((row) => ({ row, nodes: [node] }))),
    );
  const answered = answers.filter(({ lists }) => lists.some((rows) => rows.length > 0));
  const nodes = answered.map(({ node }) => node);
  if (aggregation === 'special') {
    const { name } = derivedQuery(matchers) as { name: string };
    const sources = yield* sumSources(answered.map(({ lists }) => lists));
    return (yield* derivedRows(name, plan, sources)).map((row) => ({ row, nodes }));
  }
  const combination = aggregationOf(aggregation);
  if (combination?.kind === 'quantile') {
    const rows = answered.flatMap(({ lists }) => lists.flat());
    return (yield* aggregated(rows, combination)).map((row) => ({ row, nodes }));
  }
  return combination === null ? [] : yield* combinedByLabels(answered, combination.combiner);
}

/** Combines the rows that have the same labels, each from another node. */
function* combinedByLabels(answered: readonly NodeAnswer[], combiner: Combiner): Slices<ShownRow[]> {
  const nodesByLabels = new Map<string, string[]>();
  for (const { node, lists } of answered)
    for (const key of (yield* keyed(lists.flat())).keys()) {
      const nodes = nodesByLabels.get(key);
      if (nodes === undefined) nodesByLabels.set(key, [node]);
      else nodes.push(node);
    }
  const rows = yield* combineBy(
    answered.flatMap(({ lists }) => lists.flat()),
    combiner,
    (labels: Labels) => labels,
  );
  const byLabels = yield* keyed(rows);
  return [...byLabels].map(([key, row]) => ({ row, nodes: nodesByLabels.get(key) ?? [] }));
}

async function textsOf(shown: readonly ShownRow[], request: RangeRequest, budget: RangeBudget) {
  const texts: string[] = [];
  for (const row of shown) {
    const text = JSON.stringify(seriesOf(row, request));
    budget.spend('answerBytes', text.length);
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
  { row: { labels, values, has }, nodes }: ShownRow,
  { startMs, stepMs }: RangeRequest,
): RangeAnswer['data'][number] {
  const { __name__: name, ...rest } = labels;
  const points: [number, string][] = [];
  for (let index = 0; index < has.length; index++) {
    if (has[index] === 1)
      points.push([(startMs + index * stepMs) / 1000, valueText(values[index] as number)]);
  }
  return { metric: { nodes, ...(name !== undefined && { name }), ...rest }, values: points };
}
