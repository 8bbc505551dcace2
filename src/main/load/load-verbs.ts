// `divan load`: reads and writes of documents, with their rate and latencies, so that people measure for themselves.
import { nodeConnection } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import { interruptible } from '../interruptible.ts';
import { kinds } from '../options.ts';
import { BucketData } from '../remote/bucket-data.ts';
import { collectionOptions, integerOption, jsonFlag, secondsUpTo } from '../remote/common-options.ts';
import { RemoteNode } from '../remote/remote-node.ts';
import { type VerbOutput, verb } from '../remote/verb.ts';
import { columns, ProgressLine } from '../terminal.ts';
import { everyDocument } from './every-document.ts';
import type { Latencies } from './latencies.ts';
import { type LoadPlan, LoadRun } from './load-run.ts';

const secondMs = 1_000;
/** The braces and names around the text of a document. */
const frameBytes = '{"text":""}'.length;

const loadOptions = {
  ...nodeConnection('user with the roles data_reader and data_writer, or more'),
  ...collectionOptions,
  json: jsonFlag,
  // A timer cannot wait longer than 24 days.
  duration: { kind: secondsUpTo(24), default: 10, doc: 'how long the load runs' },
  documents: { kind: integerOption(1, 100_000_000), default: 10_000, doc: 'number of different documents' },
  size: { kind: integerOption(frameBytes, 20 << 20, 'BYTES'), default: 256, doc: 'size of each document' },
  reads: {
    kind: integerOption(0, 100, 'PERCENT'),
    default: 80,
    doc: 'share of reads; the others are writes',
  },
  rate: {
    kind: integerOption(1, 10_000_000),
    doc: 'operations a second; by default as many as the node takes',
  },
  'in-flight': { kind: integerOption(1, 10_000), default: 64, doc: 'operations at once' },
  connections: { kind: integerOption(1, 100), default: 1, doc: 'connections to each node' },
  prefix: { kind: kinds.text, default: 'load:', doc: 'beginning of the keys' },
  prepare: { kind: kinds.flag, default: true, doc: 'write all documents first' },
  cleanup: { kind: kinds.flag, default: true, doc: 'delete the documents at the end' },
} as const;

export const loadVerbs = [
  verb(
    'BUCKET',
    'reads and writes documents of a collection at random, and prints rate and latencies',
    loadOptions,
    async (options, [bucket = '']) => {
      const line = new ProgressLine();
      const { scope, collection, size, prefix, documents } = options;
      const node = new RemoteNode(options);
      const opened: BucketData[] = [];
      try {
        for (let n = 0; n < options.connections; n++) opened.push(await BucketData.open(node, bucket));
        const [data] = opened as [BucketData];
        const plan: LoadPlan = {
          prefix,
          documents,
          inFlight: options['in-flight'],
          rate: options.rate ?? null,
          collectionId: await data.collectionId(scope, collection),
          durationMs: options.duration * secondMs,
          value: bodyOfSize(size),
          readShare: options.reads / 100,
        };
        // Ctrl-C ends the measurement; the figures so far are printed, and the documents removed.
        let isStopped = false;
        const answer = await interruptible(async (signal) => {
          if (options.prepare)
            await everyDocument(
              data,
              plan,
              'set',
              (done) => line.show(`prepared ${done} of ${documents}`),
              signal,
            );
          const run = new LoadRun(opened, plan, Math.random);
          const failure = await measured(run, line, signal);
          isStopped = signal.aborted;
          if (options.cleanup && failure === null)
            await everyDocument(data, plan, 'remove', (done) => line.show(`deleted ${done} of ${documents}`));
          return summary(run, failure);
        });
        if (isStopped) process.exitCode = ExitStatus.interrupted;
        return answer;
      } finally {
        line.end();
        for (const data of opened) data.close();
      }
    },
  ),
];

/** Resolves with the error that ended the run early; null if the run ended in time. */
async function measured(run: LoadRun, line: ProgressLine, signal: AbortSignal): Promise<Error | null> {
  const live = setInterval(() => {
    const { count, p50, p99 } = run.takeLatencies();
    line.show(`${count}/s, half within ${inMs(p50)}, 99 % within ${inMs(p99)}`);
  }, secondMs);
  try {
    await run.run(signal);
    return null;
  } catch (error) {
    return error as Error;
  } finally {
    clearInterval(live);
    line.end();
  }
}

const bodyOfSize = (bytes: number): Buffer =>
  Buffer.from(JSON.stringify({ text: 'x'.repeat(bytes - frameBytes) }));

function summary(run: LoadRun, failure: Error | null): VerbOutput {
  const { reads, writes, errors } = run.total;
  const elapsedSeconds = run.elapsedMs / secondMs;
  const refused = Object.fromEntries(errors);
  const rows = [
    ['', 'operations', 'a second', 'half within', '95 %', '99 %', '99.9 %', 'longest'],
    ...(
      [
        ['reads', reads],
        ['writes', writes],
      ] as const
    ).map(([name, figures]) => rowOf(name, figures, elapsedSeconds)),
  ];
  const refusals = Object.entries(refused).map(([name, count]) => `refused: ${count} with ${name}`);
  const text = [columns(rows), ...refusals].join('\n');
  if (failure !== null) {
    process.stdout.write(`${text}\n`);
    throw new CommandError(`ended after ${elapsedSeconds.toFixed(1)} s: ${failure.message}`);
  }
  if (refusals.length > 0) process.exitCode = ExitStatus.partial;
  return {
    value: {
      seconds: elapsedSeconds,
      reads: figuresOf(reads, elapsedSeconds),
      writes: figuresOf(writes, elapsedSeconds),
      refused,
    },
    text,
  };
}

const figuresOf = (figures: Latencies, elapsedSeconds: number) => ({
  operations: figures.count,
  perSecond: figures.count / elapsedSeconds,
  p50Ms: figures.percentile(0.5),
  p95Ms: figures.percentile(0.95),
  p99Ms: figures.percentile(0.99),
  p999Ms: figures.percentile(0.999),
  maxMs: figures.maxMs,
});

function rowOf(name: string, figures: Latencies, elapsedSeconds: number): string[] {
  const { operations, perSecond, p50Ms, p95Ms, p99Ms, p999Ms, maxMs } = figuresOf(figures, elapsedSeconds);
  return [name, String(operations), perSecond.toFixed(0), ...[p50Ms, p95Ms, p99Ms, p999Ms, maxMs].map(inMs)];
}

const inMs = (milliseconds: number): string => `${milliseconds.toFixed(2)} ms`;
