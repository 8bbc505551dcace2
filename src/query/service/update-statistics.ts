// UPDATE STATISTICS: scans the collection for a sample of the expressions' values, and describes it by histograms. Statements of the engine do
// the work, so its time slices, memory quotas and temporary files hold here too.
import { keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import type { ExpressionStatistics } from '#sqlpp/datastore/statistics.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { documentAlias, type StatisticsKey } from '#sqlpp/plan/statistics-keys.ts';
import type { PlainCommand } from '#sqlpp/run/commands.ts';
import { sampleSizeMax } from '#sqlpp/run/statistics-options.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { asValue } from '../request/value-of-json.ts';
import { HistogramBuilder } from '../statistics/histogram-builder.ts';
import { type SampledElements, ValueSample } from '../statistics/value-sample.ts';
import type { CommandContext } from './command-context.ts';

type UpdateStatistics = Extract<PlainCommand, { kind: 'UPDATE_STATISTICS' }>;
type Gather = Extract<UpdateStatistics['change'], { kind: 'gather' }>;

/** The most memory that a sample takes. */
const sampleBytesMax = 32 << 20;

export async function updateStatistics(command: UpdateStatistics, given: CommandContext): Promise<void> {
  const { keyspace, change } = command;
  const { bucketUuid, collectionId } = keyspace;
  const target = { bucketUuid, collectionId };
  const { changeStatistics } = given.service.deps;
  const outcome =
    change.kind === 'delete'
      ? await changeStatistics({ kind: 'delete', ...target, expressions: change.expressions })
      : await changeStatistics({
          kind: 'store',
          ...target,
          expressions: await gathered(command, change, given),
        });
  if (outcome !== 'done')
    throw sqlError(5000, `UPDATE STATISTICS of ${keyspaceText(keyspace.name)}: ${outcome.refused}`);
}

async function gathered(
  { keyspace }: UpdateStatistics,
  { keys, options }: Gather,
  given: CommandContext,
): Promise<ExpressionStatistics[]> {
  const { context } = given;
  const endMs =
    options.timeoutSeconds === 0 ? Infinity : context.monotonicMs() + options.timeoutSeconds * 1000;
  const checkTime = () => {
    context.signal.throwIfAborted();
    if (context.monotonicMs() > endMs) throw sqlError(1080, `${options.timeoutSeconds}s`);
  };
  const found: ExpressionStatistics[] = [];
  for (let at = 0; at < keys.length; at += options.batchSize) {
    const batch = keys.slice(at, at + options.batchSize);
    const gathering = new Gathering(batch, options, given, checkTime);
    const from = ['bucket', 'scope', 'collection'].map((part) =>
      quoted(keyspace.name[part as 'bucket' | 'scope' | 'collection']),
    );
    found.push(...(await gathering.run(`default:${from.join('.')}`)));
  }
  return found;
}

const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``;

class Gathering {
  private readonly keys: readonly StatisticsKey[];
  private readonly options: Gather['options'];
  private readonly given: CommandContext;
  private readonly checkTime: () => void;

  constructor(
    keys: readonly StatisticsKey[],
    options: Gather['options'],
    given: CommandContext,
    checkTime: () => void,
  ) {
    this.keys = keys;
    this.options = options;
    this.given = given;
    this.checkTime = checkTime;
  }

  async run(from: string): Promise<ExpressionStatistics[]> {
    const sample = await this.sampleOf(from);
    const found: ExpressionStatistics[] = [];
    for (const [position, key] of this.keys.entries())
      found.push(await this.described(key, position, sample));
    return found;
  }

  private async sampleOf(from: string): Promise<ValueSample> {
    const { context } = this.given;
    const { memoryQuotaBytes } = context;
    const limits = {
      rows: this.options.sampleSize,
      bytes: memoryQuotaBytes === 0 ? sampleBytesMax : Math.min(sampleBytesMax, memoryQuotaBytes),
    };
    const sample = new ValueSample(limits, [
      ...this.keys.map(({ isArray }) => isArray),
      ...sizeExpressions.map(() => false),
    ]);
    const values = [...this.keys.map(({ value }) => value), ...sizeExpressions].map(
      (value, position) => `${value} AS \`${position}\``,
    );
    const text = `SELECT ${values.join(', ')} FROM ${from} AS ${quoted(documentAlias)}`;
    const random = () => context.random();
    for await (const batch of this.batchesOf(text))
      for (const row of batch) sample.offer(random, () => jsonText(row));
    return sample;
  }

  private async described(
    { expression, isArray }: StatisticsKey,
    position: number,
    sample: ValueSample,
  ): Promise<ExpressionStatistics> {
    const { size, seen } = sample;
    const { values, count } = isArray
      ? elementsOf(sample.valuesAt(position) as SampledElements[])
      : scalarsOf(sample.valuesAt(position));
    const histogram = new HistogramBuilder(values.length, this.options.resolution);
    const grouped = 'SELECT RAW [v, COUNT(*)] FROM $values AS v GROUP BY v ORDER BY v';
    for await (const batch of this.batchesOf(grouped, new Map([['values', asValue(values)]]))) {
      for (const row of batch) {
        const [value, times] = JSON.parse(jsonText(row)) as [unknown, number];
        histogram.add(value, times);
      }
    }
    const { resolution } = this.options;
    const sampledShare = seen === 0 ? 1 : (size / seen) * (values.length / Math.max(1, count));
    return {
      expression,
      documents: seen,
      sampled: size,
      keyBytes: average(sample.valuesAt(this.keys.length).map((id) => Buffer.byteLength(String(id)))),
      documentBytes: average(sample.valuesAt(this.keys.length + 1).map(Number)),
      perDocument: size === 0 ? 0 : count / size,
      resolution,
      gatheredMs: this.given.context.clockMs(),
      ...histogram.finish(sampledShare),
    };
  }

  private async *batchesOf(
    text: string,
    named: ReadonlyMap<string, Value> = new Map(),
  ): AsyncGenerator<readonly Value[]> {
    const { chooser, context } = this.given;
    const prepared = chooser.prepareScan(text);
    await context.authorize(prepared.privileges);
    for await (const batch of prepared.program.run(prepared, { ...context, positional: [], named }).rows) {
      this.checkTime();
      yield batch;
    }
  }
}

/** Expressions that are sampled in addition to the keys: the id of the document, and its length in bytes. */
const sizeExpressions = [
  `META(${quoted(documentAlias)}).id`,
  `ENCODED_SIZE(${quoted(documentAlias)})`,
] as const;

const average = (values: readonly number[]): number => {
  const known = values.filter(Number.isFinite);
  return known.length === 0 ? 0 : Math.round(known.reduce((sum, value) => sum + value, 0) / known.length);
};

interface SampledValues {
  readonly values: readonly unknown[];
  /** The number of all values of the sampled documents, of which `values` may be a part. */
  readonly count: number;
}

function scalarsOf(cells: readonly unknown[]): SampledValues {
  const values = cells.filter((each) => each !== undefined);
  return { values, count: values.length };
}

/** At most `sampleSizeMax` elements, from all documents. */
function elementsOf(cells: readonly SampledElements[]): SampledValues {
  const count = cells.reduce((total, each) => total + each.count, 0);
  const kept = cells.reduce((total, each) => total + each.kept.length, 0);
  const step = Math.max(1, Math.ceil(kept / sampleSizeMax));
  const values: unknown[] = [];
  let at = 0;
  for (const each of cells) for (const element of each.kept) if (at++ % step === 0) values.push(element);
  return { values, count };
}
