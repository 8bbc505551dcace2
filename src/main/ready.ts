// Checks that a node is ready: a REST call and a document operation through its advertised addresses must succeed. Writes the ready file.
import { accessSync, constants, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { KvClient } from '#client/kv.adapter.ts';
import { rest } from '#client/rest.adapter.ts';
import type { Clock } from '#ports/clock.ts';
import { GetClusterConfig, Noop } from '#wire/commands/session.ts';
import { Status } from '#wire/status.ts';
import { StartError } from './start-error.ts';

/** The addresses that clients use. */
export interface NodeAddresses {
  rest: string;
  restTls: string;
  kv: string;
  kvTls: string;
  capi: string;
  capiTls: string;
  /** Absent without the query service. */
  query?: string;
  queryTls?: string;
  /** Absent without the index service. */
  index?: string;
  indexTls?: string;
  /** Absent without the backup service. */
  backup?: string;
  backupTls?: string;
}

/** The content of the ready file: the parts that were started. */
export interface ReadyFile {
  /** The process to signal to stop them. */
  pid?: number;
  node?: NodeAddresses;
  cloud?: { api: string; token: string; accessKey: string; secretKey: string };
  username?: string;
  password?: string;
}

export interface ProbeTarget {
  host: string;
  restPort: number;
  kvPort: number;
  /** The local address to connect from. */
  localAddress: string | undefined;
  /** An account that may read every bucket, null before provisioning. */
  account: { username: string; password: string } | null;
  buckets: readonly string[];
}

const kvTimeoutMs = 15_000;
const readyTimeoutMs = 120_000;
const probeKey = 'divan:ready';

/** Retries until everything answers; throws after two minutes, with the last error as the cause. */
export async function untilReady(target: ProbeTarget, clock: Clock): Promise<void> {
  const deadlineMs = clock.monotonicMs() + readyTimeoutMs;
  for (;;) {
    try {
      await probe(target);
      return;
    } catch (error) {
      if (clock.monotonicMs() > deadlineMs)
        throw new Error(`not ready in ${readyTimeoutMs} ms`, { cause: error });
      await clock.sleep(10);
    }
  }
}

async function probe(target: ProbeTarget): Promise<void> {
  const { host, restPort, localAddress } = target;
  const answer = await rest({ host, port: restPort, localAddress }, 'GET', '/whoami');
  // 503: the node refuses the request by a limit that an operator set.
  if (answer.status !== 200 && answer.status !== 503)
    throw new Error(`GET /whoami answered ${answer.status}`);
  const client = await KvClient.open(target.host, target.kvPort, kvTimeoutMs, target.localAddress);
  try {
    await client.expect({ opcode: Noop.opcode });
    if (target.account === null) return;
    await client.login(target.account.username, target.account.password);
    if (target.buckets.length === 0) await client.expect({ opcode: GetClusterConfig.opcode });
    for (const bucket of target.buckets) await readFrom(client, bucket);
  } finally {
    client.close();
  }
}

/** Also those of a bucket whose default collection was dropped, and where another node of the cluster serves the vbucket of the key. */
const answersOfServed: ReadonlySet<number> = new Set([
  Status.success,
  Status.keyNotFound,
  Status.unknownCollection,
  Status.notMyVbucket,
]);

async function readFrom(client: KvClient, bucket: string): Promise<void> {
  await client.select(bucket);
  const { status } = await client.get(0, probeKey);
  if (!answersOfServed.has(status))
    throw new Error(`bucket "${bucket}": reading answered status 0x${status.toString(16)}`);
}

/** Call before a start creates anything, even the data folder. Throws an error that names the option if the file cannot be written. */
export function checkReadyFile(path: string, dataFolder: string): void {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new Error('it is a folder');
    const folder = resolve(dirname(path));
    if (folder !== resolve(dataFolder) || existsSync(folder)) accessSync(folder, constants.W_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
}

const unwritable = (path: string, error: unknown): StartError =>
  new StartError(`--ready-file: cannot write ${path}: ${(error as Error).message}`, { cause: error });

/** Written whole or not at all, readable by the owner only. */
export function writeReadyFile(path: string, ready: ReadyFile): void {
  try {
    writeWhole(path, ready);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function writeWhole(path: string, ready: ReadyFile): void {
  const temporary = `${path}.${process.pid}.tmp`;
  rmSync(temporary, { force: true });
  const file: ReadyFile = { pid: process.pid, ...ready };
  // `wx`: never writes into a file, or through a link, that another user created.
  writeFileSync(temporary, `${JSON.stringify(file)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, path);
}
