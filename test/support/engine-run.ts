// Runs statements on the query engine over a datastore in memory, with a fixed clock and without other requests.
import type { ExecuteContext, PrepareContext, PreparedStatement, ScratchFile } from '#sqlpp/run/engine.ts';
import { prepareStatement } from '#sqlpp/run/prepare.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import type { Value } from '#sqlpp/values/value.ts';
import type { MemoryDatastore } from './memory-datastore.ts';

/** What a test chooses for the preparation and the execution of a statement. */
export interface EngineOptions {
  /** True if absent. */
  readonly sequentialScans?: boolean;
  readonly positional?: readonly Value[];
  readonly named?: ReadonlyMap<string, Value>;
  readonly spillBytes?: number;
  readonly memoryQuotaBytes?: number;
  readonly signal?: AbortSignal;
  /** Receives the errors of the executed statement. */
  readonly errors?: Error[];
  readonly queryContext?: { readonly bucket: string; readonly scope: string };
  readonly statistics?: PrepareContext['statistics'];
  readonly userFunctions?: PrepareContext['userFunctions'];
  readonly isCommunityEdition?: boolean;
}

export function prepareOn(
  datastore: MemoryDatastore,
  text: string,
  options: EngineOptions = {},
): PreparedStatement {
  const { queryContext, statistics, userFunctions } = options;
  const context: PrepareContext = {
    datastore,
    ...(userFunctions && { userFunctions }),
    ...(options.isCommunityEdition && { isCommunityEdition: true }),
    ...(statistics && { statistics }),
    sequentialScans: options.sequentialScans ?? true,
    ...(queryContext && { queryContext }),
  };
  return prepareStatement(text, context);
}

/** The rows as parsed JSON. */
export async function query(
  datastore: MemoryDatastore,
  text: string,
  options: EngineOptions = {},
): Promise<unknown[]> {
  return runPrepared(datastore, prepareOn(datastore, text, options), options);
}

export async function runPrepared(
  datastore: MemoryDatastore,
  prepared: PreparedStatement,
  options: EngineOptions = {},
): Promise<unknown[]> {
  const execution = prepared.program.run(prepared, contextOf(datastore, options));
  const rows: unknown[] = [];
  for await (const batch of execution.rows) for (const row of batch) rows.push(JSON.parse(jsonText(row)));
  options.errors?.push(...execution.outcome.errors);
  return rows;
}

export function contextOf(datastore: MemoryDatastore, options: EngineOptions = {}): ExecuteContext {
  let uuids = 0;
  return {
    datastore,
    positional: options.positional ?? [],
    named: options.named ?? new Map(),
    startedMs: 1_700_000_000_000,
    clockMs: () => 1_700_000_000_000,
    monotonicMs: () => 0,
    random: () => 0.5,
    uuid: () => `uuid-${++uuids}`,
    pause: async () => {},
    scratch: async () => new MemoryScratch(),
    memoryQuotaBytes: options.memoryQuotaBytes ?? 0,
    spillBytes: options.spillBytes ?? 64 * 1024 * 1024,
    isReadonly: false,
    preserveExpiry: false,
    durability: 'none',
    consistency: () => ({ kind: 'not_bounded' }),
    scanWaitMs: 0,
    errorLimit: 16,
    signal: options.signal ?? new AbortController().signal,
    users: [],
    ...(options.userFunctions && { userFunctions: options.userFunctions }),
    command: (command) => {
      throw new Error(`${command.kind} needs the query service, which these tests do not have`);
    },
    authorize: () => {},
  };
}

/** The `offset` of a part is its index. */
class MemoryScratch implements ScratchFile {
  readonly #parts: Uint8Array[] = [];

  async append(bytes: Uint8Array): Promise<{ offset: number; length: number }> {
    this.#parts.push(bytes.slice());
    return { offset: this.#parts.length - 1, length: bytes.length };
  }

  async read({ offset }: { offset: number }): Promise<Uint8Array> {
    return this.#parts[offset] as Uint8Array;
  }

  async close(): Promise<void> {}
}
