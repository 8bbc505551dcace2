// The contents of a support bundle: answers of the node's own GET routes, which show no secrets, and its logs.
import { AppError } from '#contract/errors.ts';
import type { BoundRoute, Context, Params, Reply } from '#contract/route.ts';
import type { EventQuery, EventRecord } from '../events/event-log.ts';
import type { BundleEntry, BundleFiles } from './bundle-files.ts';
import type { Redactor } from './redactor.ts';

export interface BundleSources {
  /** All routes of the node. */
  routes: readonly BoundRoute[];
  events: { read(query: EventQuery): Promise<EventRecord[]> };
  files: BundleFiles;
  /** The folder of the node's log. */
  logFolder: string;
  /** Null: the bundle does not contain the audit log. */
  auditFolder: string | null;
  buckets: readonly string[];
  /** What `bundle.json` says about the bundle. */
  facts: Readonly<Record<string, unknown>>;
}

const eventsMax = 20_000;
const logBytesMax = 32 << 20;
const auditBytesMax = 32 << 20;

/** GET routes whose answers the bundle does not contain: their data is in other entries, or they are about the caller. */
const excludedReads = [
  'openapi.document',
  'metrics.range_without_metric',
  'events.read',
  'events.logs',
  'users.whoami',
  'ui.root',
];
const perBucket = ['buckets.get', 'buckets.stats', 'collections.manifest'];

/** The entries that the caller may read. `context` null: without answers of the REST API. */
export function bundleEntries(sources: BundleSources, context: Context | null, redactor: Redactor | null) {
  const { routes, events, files, logFolder, auditFolder, buckets, facts } = sources;
  const redacted = (text: string) => redactor?.redact(text) ?? text;
  const entry = (name: string, pieces: () => AsyncIterable<string>): BundleEntry => ({
    name,
    // A source that cannot be read is named in its place: the bundle is needed most where something is wrong.
    async *pieces() {
      try {
        for await (const piece of pieces()) yield redacted(piece);
      } catch (error) {
        yield redacted(`${JSON.stringify({ error: (error as Error).message })}\n`);
      }
    },
  });
  const json = (name: string, value: () => unknown): BundleEntry =>
    entry(name, async function* () {
      yield `${JSON.stringify(await value(), null, 1)}\n`;
    });
  const tails = async (folder: string, prefixes: string[], bytesMax: number) => {
    let room = bytesMax;
    return (await files.logs(folder, prefixes)).map((name) =>
      entry(`logs/${name}`, async function* () {
        for await (const piece of files.tail(folder, name, Math.max(room, 0))) {
          room -= piece.length;
          yield piece;
        }
      }),
    );
  };
  const answerEntry = (caller: Context, route: BoundRoute, params: Params = {}) =>
    entry(entryName(route, params), async function* () {
      yield await answered(route, params, caller);
    });
  const answerEntries = (caller: Context): BundleEntry[] => [
    ...routes
      .filter((read) => isPlainRead(read) && mayRead(read, caller))
      .map((read) => answerEntry(caller, read)),
    ...buckets.flatMap((bucket) =>
      routes
        .filter(({ route }) => perBucket.includes(route.id))
        .filter((read) => mayRead(read, caller, bucket))
        .map((read) => answerEntry(caller, read, { bucket })),
    ),
  ];
  return async (): Promise<BundleEntry[]> => [
    json('bundle.json', () => facts),
    ...(context === null ? [] : answerEntries(context)),
    json('disk_sizes.json', () => files.sizes()),
    entry('events.jsonl', async function* () {
      const isVisible = () => true;
      for (const event of await events.read({ limit: eventsMax, isVisible }))
        yield `${JSON.stringify(event)}\n`;
    }),
    ...(await tails(logFolder, ['node.'], logBytesMax)),
    ...(auditFolder === null ? [] : await tails(auditFolder, ['audit'], auditBytesMax)),
  ];
}

/** True for GET routes that have no path parameters and are no streams. */
const isPlainRead = ({ route }: BoundRoute): boolean =>
  route.method === 'GET' &&
  !route.path.includes(':') &&
  !excludedReads.includes(route.id) &&
  (route.id === 'metrics.export' || (route.answer?.json !== undefined && !route.answer.stream));

function mayRead({ route }: BoundRoute, context: Context, bucket?: string): boolean {
  if (route.access.kind === 'anyone' || route.access.kind === 'authenticated') return true;
  const anyBucket = '.';
  return context.may(route.access.permission.replaceAll('{bucket}', bucket ?? anyBucket));
}

const entryName = ({ route }: BoundRoute, params: Params): string => {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => params[name] ?? '');
  return `rest${path === '/metrics' ? '/metrics.txt' : `${path}.json`}`;
};

/** The answer of a GET route, or its error. */
async function answered({ route, handler }: BoundRoute, params: Params, context: Context): Promise<string> {
  try {
    const outcome = await route.query?.['~standard'].validate({});
    const query = outcome && 'value' in outcome ? outcome.value : {};
    const input = { params, query, body: undefined, justValidate: false };
    return textOf(await handler(input as never, context));
  } catch (error) {
    const status = error instanceof AppError ? error.status : 500;
    return `${JSON.stringify({ status, error: (error as Error).message })}\n`;
  }
}

function textOf(reply: Reply): string {
  if (reply.kind === 'json') return `${JSON.stringify(reply.value, null, 1)}\n`;
  return reply.kind === 'text' ? reply.text : '';
}
