// `divan node --join`: makes the new node of this process join a cluster, and rebalances the cluster. Loaded only for that option.
import { type RestReply, type RestTarget, rest } from '#client/rest.adapter.ts';
import { joiningRefusals } from '#cluster/refusals/joining.refusals.ts';
import { type Clock, realClock } from '#ports/clock.ts';
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

type JoinClock = Pick<Clock, 'monotonicMs' | 'sleep'>;

const joinTimeoutMs = 120_000;
const pollEveryMs = 500;
const pauseMaxMs = 8_000;
/** How long the progress of the rebalance may be unreadable before the start goes on without it. */
const unreadableMs = 60_000;
/** How long a rebalance is requested again for one reason: another node is being added, or was added meanwhile. */
const addedMs = 120_000;

/** The refusals of a cluster that adds another node or changes now, and can add this one later. */
const busyTexts: readonly string[] = [
  joiningRefusals.rebalancing.declaration.text,
  joiningRefusals.unfinishedFailover.declaration.text,
  joiningRefusals.busy.declaration.text,
];

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
  await requestJoin(target, fields);
  running.becameReady();
  const opened = await running.restarted();
  process.stdout.write(`Joined the cluster at ${options.join}\n`);
  return opened;
}

/** Waits while the cluster adds another node, rebalances or fails a node over. */
export async function requestJoin(
  target: RestTarget,
  fields: Readonly<Record<string, string>>,
  print = printToUser,
  clock: Pick<Clock, 'sleep'> = realClock,
): Promise<void> {
  let shown = '';
  // The pauses grow: a rebalance may take hours, and each refused request is a line of the log.
  for (let pauseMs = pollEveryMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
    const answer = await rest(target, 'POST', '/node/controller/doJoinCluster', fields);
    if (answer.status === 200) return;
    const text = textOf(answer.body);
    if (!busyTexts.includes(text)) throw new StartError(`--join: ${text}`);
    if (text !== shown) print(`This node joins as soon as the cluster can add it: ${text}`);
    shown = text;
    await clock.sleep(pauseMs);
  }
}

/**
 * Rebalances the cluster and prints the progress; waits for the end of another rebalance. Without a rebalance the node is a member that holds no
 * documents. The node serves in any case, also if the cluster refuses the rebalance or does not tell its progress.
 */
export async function rebalanceIn(
  own: RestTarget,
  print = printToUser,
  clock: JoinClock = realClock,
): Promise<void> {
  const problem = await rebalanced(own, print, clock).catch((error: Error) => error.message);
  if (problem !== null) print(`The node holds no documents until a rebalance: ${problem}`);
}

const printToUser = (line: string): void => void process.stdout.write(`${line}\n`);

/** Resolves with the reason if there was no rebalance of this node. */
async function rebalanced(
  own: RestTarget,
  print: (line: string) => void,
  clock: JoinClock,
): Promise<string | null> {
  // The limit begins anew with each further node: otherwise a node of many that join at the same time could be left without a rebalance.
  let reason = '';
  let untilMs = 0;
  for (;;) {
    const { known } = await membersOf(own);
    const fields = { knownNodes: known.join(','), ejectedNodes: '' };
    const started = await rest(own, 'POST', '/controller/rebalance', fields);
    if (started.status !== 200) {
      if (!isWhileOthersJoin(started)) return textOf(started.body);
      const now = clock.monotonicMs();
      const found = `${fields.knownNodes} ${started.body}`;
      if (found !== reason) untilMs = now + addedMs;
      else if (now >= untilMs) return textOf(started.body);
      reason = found;
    } else if ((await membersOf(own)).isActive) {
      await showProgress(own, 'Rebalance', print, clock);
      return null;
      // The cluster ignores the request while another rebalance runs, which may have begun before this node joined.
    } else if (!(await showProgress(own, 'Waiting for another rebalance', print, clock)))
      return 'the end of the one that runs was not seen';
    await clock.sleep(pollEveryMs);
  }
}

/** Whether the rebalance is refused only since another node is being added, or has been since this one read the list of nodes. */
function isWhileOthersJoin({ status, body }: RestReply): boolean {
  return status === 400 && (/^\{"mismatch":1\}/.test(body) || /is still being added/.test(body));
}

/** The names of the nodes, and whether this one takes part in the cluster: a rebalance makes it active when it begins. */
async function membersOf(own: RestTarget): Promise<{ known: string[]; isActive: boolean }> {
  const { status, body } = await rest(own, 'GET', '/pools/default');
  if (status !== 200) throw new Error(textOf(body));
  const { nodes } = JSON.parse(body) as {
    nodes: { otpNode: string; thisNode?: boolean; clusterMembership?: string }[];
  };
  const self = nodes.find(({ thisNode }) => thisNode === true);
  return { known: nodes.map(({ otpNode }) => otpNode), isActive: self?.clusterMembership === 'active' };
}

/** False: the progress cannot be read, which is printed. */
async function showProgress(
  own: RestTarget,
  what: string,
  print: (line: string) => void,
  clock: JoinClock,
): Promise<boolean> {
  let shown = '';
  let readMs = clock.monotonicMs();
  while (clock.monotonicMs() - readMs < unreadableMs) {
    const progress = await progressOf(own);
    if (progress !== null) {
      readMs = clock.monotonicMs();
      if (progress.status !== 'running') {
        print(`${what}: ${progress.errorMessage ?? 'done'}`);
        return true;
      }
      const text = percentOf(progress);
      if (text !== shown) print(`${what}: ${text}`);
      shown = text;
    }
    await clock.sleep(pollEveryMs);
  }
  print(`${what}: its progress cannot be read; see the console`);
  return false;
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
