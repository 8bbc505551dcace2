// `divan node --join`: makes the new node of this process join a cluster, and rebalances the cluster. Loaded only for that option.
import { type RestTarget, rest } from '#client/rest.adapter.ts';
import { realClock } from '#ports/clock.ts';
import { UsageError } from './options.ts';
import type { OpenedNode, RunningNode } from './running-node.ts';
import { StartError } from './start-error.ts';

export interface JoinOptions {
  readonly join?: string | undefined;
  readonly services: string;
  readonly 'node-name'?: string | undefined;
  readonly bucket: readonly unknown[];
  readonly init?: string | undefined;
}

interface Credentials {
  username: string;
  password: string;
}

const joinTimeoutMs = 120_000;
const pollMs = 500;
/** How long the progress of the rebalance may be unreadable before the start goes on without it. */
const unreadableMs = 60_000;

/** Throws UsageError for options that a joining node cannot have. */
export function checkJoinOptions(options: JoinOptions, credentials: Credentials | null): void {
  if (credentials === null)
    throw new UsageError('--join needs --username and --password of an administrator of that cluster');
  if (options.bucket.length > 0 || options.init !== undefined)
    throw new UsageError(
      '--bucket and --init are for a new cluster; create buckets in the one that is joined',
    );
}

/** Resolves with the node as a member of the cluster. */
export async function joinCluster(
  running: RunningNode,
  options: JoinOptions,
  own: Pick<RestTarget, 'host' | 'port' | 'localAddress'>,
  { username, password }: Credentials,
): Promise<OpenedNode> {
  const fields = { hostname: options.join as string, user: username, password, services: options.services };
  const target = { ...own, timeoutMs: joinTimeoutMs };
  const name = options['node-name'];
  if (name !== undefined) {
    const renamed = await rest(target, 'POST', '/node/controller/rename', { hostname: name });
    if (renamed.status !== 200) throw new StartError(`--node-name: ${textOf(renamed.body)}`);
  }
  const answer = await rest(target, 'POST', '/node/controller/doJoinCluster', fields);
  if (answer.status !== 200) throw new StartError(`--join: ${textOf(answer.body)}`);
  running.becameReady();
  const opened = await running.restarted();
  process.stdout.write(`Joined the cluster at ${options.join}\n`);
  return opened;
}

/**
 * Rebalances the cluster and prints the progress. Without a rebalance the node is a member that holds no documents. The node serves in any case,
 * also if the cluster refuses the rebalance or does not tell its progress.
 */
export async function rebalanceIn(own: RestTarget, print = printToUser): Promise<void> {
  const problem = await startRebalance(own).catch((error: Error) => error.message);
  if (problem === null) await showProgress(own, print);
  else print(`The node holds no documents until a rebalance: ${problem}`);
}

const printToUser = (line: string): void => void process.stdout.write(`${line}\n`);

/** Resolves with the reason if the cluster refuses it; null: it has started. */
async function startRebalance(own: RestTarget): Promise<string | null> {
  const pool = await rest(own, 'GET', '/pools/default');
  if (pool.status !== 200) return textOf(pool.body);
  const { nodes } = JSON.parse(pool.body) as { nodes: { otpNode: string }[] };
  const known = nodes.map(({ otpNode }) => otpNode).join(',');
  const fields = { knownNodes: known, ejectedNodes: '' };
  const started = await rest(own, 'POST', '/controller/rebalance', fields);
  return started.status === 200 ? null : textOf(started.body);
}

async function showProgress(own: RestTarget, print: (line: string) => void): Promise<void> {
  let shown = '';
  let readMs = realClock.monotonicMs();
  while (realClock.monotonicMs() - readMs < unreadableMs) {
    const progress = await progressOf(own);
    if (progress !== null) {
      readMs = realClock.monotonicMs();
      if (progress.status !== 'running') return print(`Rebalance: ${progress.errorMessage ?? 'done'}`);
      const text = percentOf(progress);
      if (text !== shown) print(`Rebalance: ${text}`);
      shown = text;
    }
    await realClock.sleep(pollMs);
  }
  print('Rebalance: its progress cannot be read; see the console');
}

/** Null if the node does not answer with it, for example because a limit on requests is reached. */
async function progressOf(own: RestTarget): Promise<Progress | null> {
  try {
    const { status, body } = await rest(own, 'GET', '/pools/default/rebalanceProgress');
    return status === 200 ? (JSON.parse(body) as Progress) : null;
  } catch {
    return null;
  }
}

interface Progress {
  status: string;
  errorMessage?: string;
  [node: string]: unknown;
}

function percentOf(progress: Progress): string {
  const shares = Object.values(progress).flatMap((entry) => {
    const share = (entry as { progress?: unknown } | null)?.progress;
    return typeof share === 'number' ? [share] : [];
  });
  const sum = shares.reduce((total, share) => total + share, 0);
  return `${Math.round((100 * sum) / (shares.length || 1))} %`;
}

function textOf(body: string): string {
  try {
    const value = JSON.parse(body) as unknown;
    if (Array.isArray(value)) return value.join(' ');
  } catch {
    // The answer is text, not JSON.
  }
  return body.trim();
}
