// `divan metrics` and `divan logs`: what a running node measures and reports, over its REST API.
import { type Clock, realClock } from '#ports/clock.ts';
import { nodeConnection } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { interruptible } from '../interruptible.ts';
import { kinds, UsageError } from '../options.ts';
import { columns } from '../terminal.ts';
import { integerOption, jsonFlag, secondsUpTo } from './common-options.ts';
import { RemoteNode } from './remote-node.ts';
import { writeLine } from './terminal-text.ts';
import { verb } from './verb.ts';

const followEveryMs = 1_000;
/**
 * How far back each request asks again: the clocks of two nodes of a cluster may differ by five seconds, so that an entry that is new has an
 * earlier time than the last one shown.
 */
const askedAgainMs = 10_000;
/** The most entries in one answer. */
const answerMax = 10_000;
const functionName = { placeholder: 'rate,sum', parse: (text: string) => text };

interface Series {
  readonly metric: Readonly<Record<string, unknown>>;
  readonly values: readonly [number, string][];
}

interface RangeAnswer {
  readonly data: readonly Series[];
  readonly errors?: readonly { readonly node: string; readonly error: string }[];
}

/** What a node says about a metric or label that it does not have. */
const noSeries = /^(?:unknown metric|metric .* has no label) /;

export interface LogEntry {
  readonly tstamp: number;
  readonly serverTime: string;
  readonly node: string;
  readonly type: string;
  readonly module: string;
  readonly text: string;
}

export const metricsVerbs = [
  verb(
    '[NAME]',
    'the current samples of all metrics whose name begins with NAME; with --since the values of the metric NAME over time',
    {
      ...nodeConnection('user with the role external_stats_reader, or more'),
      json: jsonFlag,
      since: {
        kind: secondsUpTo(18_250),
        doc: 'show the values of the last TIME, such as 1h, instead of the current ones',
      },
      step: {
        kind: integerOption(1, 86_400, 'SECONDS'),
        default: 10,
        doc: 'seconds from one value to the next',
      },
      functions: {
        kind: functionName,
        doc: 'functions that are applied in order, as the range API names them',
      },
      bucket: { kind: kinds.text, doc: 'show only metrics of this bucket' },
    },
    async (options, [name]) => {
      if (options.since !== undefined && name === undefined)
        throw new UsageError('NAME is missing: --since is for one metric, divan metrics NAME --since TIME');
      if (options.since === undefined && options.functions !== undefined)
        throw new UsageError('--functions: they apply to values over time; give --since TIME too');
      const node = new RemoteNode(options);
      if (options.since === undefined || name === undefined) return current(node, name ?? '', options.bucket);
      return overTime(node, name, options.since, options);
    },
  ),
];

export const logsVerbs = [
  verb(
    '',
    'the last entries of the log of the cluster',
    {
      ...nodeConnection('user with the role ro_admin, or more'),
      json: jsonFlag,
      lines: { kind: integerOption(1, 10_000), default: 50, doc: 'how many entries at most' },
      follow: {
        kind: kinds.flag,
        default: false,
        doc: 'go on with new entries until Ctrl-C; with --json a line for each',
      },
    },
    async (options) => {
      const node = new RemoteNode(options);
      const { lines, follow } = options;
      const list = await entries(node, `limit=${lines}`);
      if (!follow) return { value: list, text: list.map(lineOf).join('\n') };
      const show = options.json ? (entry: LogEntry) => JSON.stringify(entry) : lineOf;
      await interruptible((signal) =>
        followLog(node, list, show, { signal, clock: realClock, write: writeLine }),
      );
      return null;
    },
  ),
];

async function current(node: RemoteNode, prefix: string, bucket: string | undefined) {
  const { body } = await node.request('GET', '/metrics');
  const samples = body
    .split('\n')
    .map((line) => /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)/.exec(line))
    .filter((match) => match !== null)
    .map(([, name = '', labels = '', value = '']) => ({
      name,
      labels: labelsIn(labels),
      value: sampleNumber(value),
    }))
    .filter(
      ({ name, labels }) => name.startsWith(prefix) && (bucket === undefined || labels['bucket'] === bucket),
    );
  if (samples.length === 0)
    throw new CommandError(`no metric whose name begins with "${prefix}" has a sample`, ExitStatus.missing);
  const rows = samples.map(({ name, labels, value }) => [name, labelText(labels), String(value)]);
  return { value: samples, text: columns(rows) };
}

/** The text format writes infinite values as `+Inf` and `-Inf`. JSON has neither these nor NaN: they stay texts. */
export const sampleNumber = (text: string): number | string =>
  Number.isFinite(Number(text)) ? Number(text) : text;

/** `{a="b",c="d"}` of the text format, whose values escape quotes, backslashes and line ends as JSON does. */
function labelsIn(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-zA-Z_]\w*)=("(?:[^"\\]|\\.)*")/g)];
  return Object.fromEntries(
    pairs.map(([, name, value]) => [name as string, JSON.parse(value as string) as string]),
  );
}

const labelText = (labels: Readonly<Record<string, unknown>>): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');

interface RangeOptions {
  readonly step: number;
  readonly functions: string | undefined;
  readonly bucket: string | undefined;
}

async function overTime(
  node: RemoteNode,
  name: string,
  since: number,
  { step, functions = '', bucket }: RangeOptions,
) {
  const chain = functions === '' ? [] : functions.split(',');
  const path = ['/pools/default/stats/range', ...[name, ...chain].map(encodeURIComponent)].join('/');
  const query = new URLSearchParams({
    start: String(-since),
    step: String(step),
    ...(bucket !== undefined && { bucket }),
  });
  const { data, errors = [] } = (await node.get(`${path}?${query}`)) as RangeAnswer;
  const problems = [...new Set(errors.map(({ error }) => error))];
  if (data.length === 0) {
    const isMissing = problems.every((problem) => noSeries.test(problem));
    throw new CommandError(
      [`metric "${name}" has no values in this time`, ...problems].join(': '),
      isMissing ? ExitStatus.missing : ExitStatus.failure,
    );
  }
  for (const { node: from, error } of errors) process.stderr.write(`divan: ${from}: ${error}\n`);
  const text = data.map(({ metric, values }) => {
    const { nodes, ...labels } = metric;
    const rows = values.map(([at, value]) => [new Date(at * 1_000).toISOString(), value]);
    return `${labelText({ ...labels, nodes })}\n${columns(rows)}`;
  });
  return { value: data, text: text.join('\n\n') };
}

const entries = async (node: Pick<RemoteNode, 'get'>, query: string): Promise<LogEntry[]> =>
  ((await node.get(`/logs?${query}`)) as { list: LogEntry[] }).list;

const lineOf = ({ serverTime, node, type, module, text }: LogEntry): string =>
  `${serverTime}  ${type.padEnd(7)}  ${node}  ${module}: ${text}`;

interface FollowContext {
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly write: (line: string) => void;
}

/** Shows the entries of the list, then new ones. Ends only with an error, such as the reason of the signal. */
export async function followLog(
  node: Pick<RemoteNode, 'get'>,
  list: readonly LogEntry[],
  show: (entry: LogEntry) => string,
  { signal, clock, write }: FollowContext,
): Promise<never> {
  /** The entries that requests may return again, as JSON, with their times. */
  const known = new Map<string, number>();
  let newestMs = 0;
  const showNew = (found: readonly LogEntry[], isShown: (entry: LogEntry) => boolean): void => {
    for (const entry of found) {
      const text = JSON.stringify(entry);
      if (!known.has(text) && isShown(entry)) write(show(entry));
      known.set(text, entry.tstamp);
    }
    newestMs = found.reduce((newest, { tstamp }) => Math.max(newest, tstamp), newestMs);
  };
  showNew(list, () => true);
  // The list has only the last entries: those before them are not shown later either.
  const listedMs = newestMs;
  let found = await entries(node, since(newestMs - askedAgainMs));
  showNew(found, ({ tstamp }) => tstamp > listedMs);
  for (;;) {
    await clock.sleep(followEveryMs, signal);
    // After a full answer further entries come first.
    const fromMs = found.length < answerMax ? newestMs - askedAgainMs : newestMs;
    for (const [text, ms] of known) if (ms < fromMs) known.delete(text);
    found = await entries(node, since(fromMs));
    showNew(found, () => true);
  }
}

const since = (ms: number): string => `limit=${answerMax}&sinceTime=${Math.max(0, ms)}`;
