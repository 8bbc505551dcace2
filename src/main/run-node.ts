// `divan node` and `divan up`: starts a node from its options until it is ready, and stops it.
import { flushCompileCache } from 'node:module';
import { join, resolve } from 'node:path';
import { UnsealError } from '#auth/secret-box.ts';
import { type RestTarget, rest } from '#client/rest.adapter.ts';
import type { NodeIdentity } from '#cluster/config/node-identity.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { releaseMemoryWhenIdle } from '#ports/spare-memory.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { DataFolder } from './data-folder.ts';
import { DiskReserveFile } from './disk-reserve-file.ts';
import { checkFirstStart } from './first-options.ts';
import { applyPlan, type FirstStart, provision } from './first-start.ts';
import { type InitPlan, isEmptyPlan, plannedCollections, planOf } from './init-plan.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { jsonLog } from './log.adapter.ts';
import { NodeLogFile } from './log-file.adapter.ts';
import { checkNatsOptions } from './nats-source.ts';
import type { Node } from './node.ts';
import type { NodeOptions } from './node-options.ts';
import { openNode } from './open-node.ts';
import { UsageError } from './options.ts';
import { makeOwnAccount } from './own-account.ts';
import { OwnNatsServer } from './own-nats-server.ts';
import { checkReadyFile, type ReadyFile, untilReady, writeReadyFile } from './ready.ts';
import { readyFileOf } from './ready-addresses.ts';
import { type OpenedNode, RunningNode } from './running-node.ts';
import type { Shutdown } from './signals.ts';
import { StartError } from './start-error.ts';
import { companionSummary, summary } from './summary.ts';

interface Credentials {
  username: string;
  password: string;
}

const exitLost = 1;

/** The processes that `divan up` starts beside the node. */
export interface Companion {
  /** `first`: the addresses of this node. Resolves with the cloud if there is one among them. */
  start(onLost: (reason: Error) => void, first: ReadyFile): Promise<NonNullable<ReadyFile['cloud']> | null>;
  stop(): Promise<void>;
}

interface RunOptions {
  /** A first start without credentials makes an administrator with a random password. */
  makePassword: boolean;
  companion?: Companion | null;
  shutdown: Shutdown;
}

export const runNode = (given: NodeOptions, run: RunOptions): Promise<void> =>
  run.shutdown.whileStarting(() =>
    startNodeProcess({ ...given, 'data-dir': resolve(given['data-dir']) }, run),
  );

async function startNodeProcess(
  options: NodeOptions,
  { makePassword, companion = null, shutdown }: RunOptions,
): Promise<void> {
  const plan = planOf(options.bucket, await initFile(options.init), options.init);
  const wanted = credentialsOf(options);
  const isFirst = DataFolder.awaitsFirstStart(options['data-dir']);
  const isJoining = options.join !== undefined && isFirst;
  await checkOptions(options, { plan, wanted, isJoining, makePassword });
  const reserve = new DiskReserveFile(options['data-dir'], realClock);
  reserve.useForStart();
  const folder = DataFolder.open(options['data-dir'], realRandom);
  const folderLock = lockDataFolder(options['data-dir']);
  const log = jsonLog(options['log-level'], new NodeLogFile(join(options['data-dir'], 'logs')));
  const server = new OwnNatsServer(options, log);
  const running = new RunningNode({
    options,
    log,
    server,
    folderKey: () => folder.key(),
    open: (present, membership) =>
      openNode({ folder, reserve, lock: folderLock, server, log }, present, membership, (reason) =>
        endProcess(log, reason),
      ),
    onLost: (reason) => endProcess(log, reason),
  });
  const stopParts = async (): Promise<void> => {
    reserve.stop();
    await Promise.all([running.stop(), companion?.stop()]);
    // Last: until then the node may change its configuration.
    await server.stop();
  };
  shutdown.stopWith(async () => {
    await stopParts();
    folderLock.release();
  });
  let opened = await running.open();
  try {
    const credentials = wanted ?? folder.generatedAdministrator() ?? (makePassword ? generated() : null);
    // The port opens before the administrator is set: no other client may set one meanwhile.
    if (credentials !== null && !isJoining) opened.node.manager.reserveFor(credentials);
    await opened.node.start(isFirst && !isJoining ? plannedCollections(plan) : []);
    if (isJoining && credentials !== null) opened = await joined(running, opened.node, options, credentials);
    const { node, identity, description, store } = opened;
    const given = { options, folder, plan, credentials, isGenerated: wanted === null, companion, log };
    await becomeReady({ ...given, node, identity, store, hasJoined: isJoining, configuration: description });
    reserve.refill();
    if (!isJoining) node.startMetrics();
    running.becameReady();
    releaseMemoryWhenIdle();
  } catch (error) {
    reserve.stop();
    await running.stop();
    await server.stop();
    throw error instanceof UnsealError ? keyLost(folder, error) : error;
  }
}

interface StartChecks {
  plan: InitPlan;
  wanted: Credentials | null;
  isJoining: boolean;
  makePassword: boolean;
}

/** Refuses wrong options before anything is created. */
async function checkOptions(
  options: NodeOptions,
  { plan, wanted, isJoining, makePassword }: StartChecks,
): Promise<void> {
  const { 'data-dir': dataDir, 'ready-file': readyPath } = options;
  checkNatsOptions(options);
  if (isJoining) await checkJoin(options, wanted);
  else if (!DataFolder.isNode(dataDir)) await checkFirstStart(options, wanted, makePassword);
  if (DataFolder.awaitsFirstStart(dataDir)) await checkPlanOf(options, plan);
  if (wanted === null && !makePassword) {
    if (!isEmptyPlan(plan)) throw new UsageError('--bucket and --init need --username and --password');
    if (options['node-name'] !== undefined)
      throw new UsageError('--node-name needs --username and --password');
  }
  if (readyPath !== undefined) checkReadyFile(readyPath, dataDir);
}

async function checkJoin(options: NodeOptions, credentials: Credentials | null): Promise<void> {
  const { checkJoinOptions } = await import('./join-cluster.ts');
  checkJoinOptions(options, credentials);
}

async function joined(
  running: RunningNode,
  node: Node,
  options: NodeOptions,
  credentials: Credentials,
): Promise<OpenedNode> {
  const { joinCluster, rebalanceIn } = await import('./join-cluster.ts');
  const own = { host: node.localHost, port: node.ports.mgmt, localAddress: options['operator-address'] };
  const opened = await joinCluster(running, options, own, credentials);
  await rebalanceIn({ ...own, ...credentials });
  return opened;
}

const keyLost = (folder: DataFolder, { message }: UnsealError): StartError =>
  new StartError(`the secret.key of the data folder ${folder.path} is not the one it had: ${message}`);

/** Ends the process after the loss of a part: only a new start can serve again. */
function endProcess(log: Log, reason: Error): void {
  const cause = reason.cause instanceof Error ? `: ${reason.cause.stack}` : '';
  log.error('process.lost', { reason: `${reason.message}${cause}` });
  process.stderr.write(`divan: ${reason.message}${cause}\n`);
  process.exit(exitLost);
}

/** Checks the plan by the rules of the REST API before anything is created. */
async function checkPlanOf(options: NodeOptions, plan: InitPlan): Promise<void> {
  if (isEmptyPlan(plan)) return;
  const { checkPlan } = await import('./check-plan.ts');
  await checkPlan(plan, {
    memoryQuotaMb: options['memory-quota'],
    edition: options.edition,
    wireNames: options['wire-names'],
    services: options.services,
    bucketOptionCount: options.bucket.length,
    file: options.init ?? '',
  });
}

async function initFile(path: string | undefined): Promise<InitPlan | null> {
  if (path === undefined) return null;
  const { readInitFile } = await import('./init-file.ts');
  return readInitFile(path);
}

function credentialsOf(options: NodeOptions): Credentials | null {
  const { username, password } = options;
  if (username !== undefined && password !== undefined) return { username, password };
  if (username === undefined && password === undefined) return null;
  throw new UsageError(
    '--username and --password (DIVAN_USERNAME, DIVAN_PASSWORD) are given together or not at all',
  );
}

const generated = (): Credentials => ({
  username: 'Administrator',
  password: realRandom.bytes(12).toString('base64url'),
});

/** A started node, and what it needs until clients can use it. */
interface StartedNode {
  node: Node;
  identity: NodeIdentity;
  store: ConfigStore;
  options: NodeOptions;
  folder: DataFolder;
  plan: InitPlan;
  credentials: Credentials | null;
  /** The credentials were generated, not given by the user. */
  isGenerated: boolean;
  companion: Companion | null;
  /** This start has made the node a member of a cluster (--join). */
  hasJoined: boolean;
  log: Log;
  /** Where the configuration is; null: in the data folder. */
  configuration: string | null;
}

async function becomeReady(started: StartedNode): Promise<void> {
  const { node, options, folder, plan, credentials, isGenerated, companion, log } = started;
  const isNew = !node.manager.authority.isProvisioned();
  const isFirst = credentials !== null && (isNew || folder.firstStartPending);
  if (isFirst) {
    await checkPlanOf(options, plan);
    folder.beginFirstStart();
    if (isNew) keepGenerated(folder, isGenerated ? credentials : null);
    await setUp(
      firstStartOf(node, folder, options, plan, credentials),
      isNew ? credentials : null,
      folder.path,
    );
  }
  await checkReady(node, options['operator-address'], started.store);
  if (isFirst) await checkNewBuckets(node, folder.path);
  const login = await stillValid(node, options['operator-address'], credentials);
  if (login === 'refused' && !isGenerated) throw new StartError(wrongLogin(options));
  const ready = readyFileOf(node, login === 'refused' ? null : login);
  await node.endStart();
  // Last: after a start that was interrupted before this, the next one prints the generated password again.
  if (isFirst) folder.endFirstStart();
  const report = (parts: ReadyFile): void => {
    if (options['ready-file'] !== undefined) writeReadyFile(options['ready-file'], parts);
  };
  if (companion === null) report(ready);
  const { damages } = await node.health();
  process.stdout.write(
    summary({
      ready,
      dataDir: options['data-dir'],
      configuration: started.configuration,
      startedInMs: performance.now(),
      provisioned: node.manager.authority.isProvisioned(),
      isGenerated,
      isFirstStart: isFirst,
      isUnfinished: folder.firstStartPending,
      // A node that joins is set up as well; the quota of its cluster is its own, so that all nodes can be given the same options.
      ignored: isFirst || started.hasJoined ? [] : firstStartFlags(options),
      damages,
    }),
  );
  if (companion !== null) report(await startBeside(companion, started, ready));
  // Sending fails if the parent has just ended; its disconnect stops this process.
  if (process.connected) process.send?.({ node: ready.node }, undefined, undefined, () => {});
  log.info('node.ready', {
    version: node.manager.product.version,
    node: started.identity.nodeId,
    boot: started.identity.bootId,
  });
  // Node writes its compile cache at a regular exit only: after a kill the next start would compile everything again.
  flushCompileCache();
}

/** Call before the administrator is set: a password kept later, or left by an earlier start, could be another than the administrator's. */
function keepGenerated(folder: DataFolder, credentials: Credentials | null): void {
  if (credentials === null) folder.removeGeneratedAdministrator();
  else folder.keepGeneratedAdministrator(credentials);
}

/** The node serves while the companion starts. If the companion ends, the process ends too. */
async function startBeside(
  companion: Companion,
  { node, log }: StartedNode,
  ready: ReadyFile,
): Promise<ReadyFile> {
  const cloud = await companion.start((reason) => {
    const end = (): void => endProcess(log, reason);
    node.stop().then(end, end);
  }, ready);
  if (cloud === null) return ready;
  process.stdout.write(companionSummary(cloud));
  return { ...ready, cloud };
}

const wrongLogin = ({ username, 'data-dir': folder }: NodeOptions): string =>
  `--username and --password: ${folder} is already set up, and "${username}" cannot log in there with this password; ` +
  'give the current ones, or neither';

/** The given options without an effect on this start, which is not the first of a cluster. */
const firstStartFlags = (options: NodeOptions): string[] => [
  ...options.bucket.map(({ name }) => `--bucket ${name}`),
  ...(options.init === undefined ? [] : [`--init ${options.init}`]),
  ...(options['memory-quota'] === undefined ? [] : ['--memory-quota']),
  ...(options['node-name'] === undefined ? [] : ['--node-name']),
];

const firstStartOf = (
  node: Node,
  folder: DataFolder,
  options: NodeOptions,
  plan: InitPlan,
  credentials: Credentials,
): FirstStart => {
  const own = { host: node.localHost, localAddress: options['operator-address'] };
  return {
    rest: { ...own, port: node.ports.mgmt, ...credentials },
    kv: { ...own, port: node.ports.kv },
    query: { ...own, port: node.ports.n1ql ?? 0, ...credentials },
    configurationApplied: () => node.applied(),
    file: options.init ?? '',
    statements: { done: folder.statementsDone, note: (count) => folder.noteStatements(count) },
    services: options.services,
    memoryQuotaMb: options['memory-quota'],
    nodeName: options['node-name'],
    plan,
  };
};

async function setUp(start: FirstStart, administrator: Credentials | null, folder: string): Promise<void> {
  try {
    if (administrator !== null) await provision(start, administrator);
    else await checkCredentials(start.rest);
    await applyPlan(start);
  } catch (error) {
    throw unfinished((error as Error).message, folder, error);
  }
}

/** A later start serves what is not damaged; a first start that ended well has all that was requested. */
async function checkNewBuckets(node: Node, folder: string): Promise<void> {
  const { damages } = await node.health();
  if (damages.length > 0) throw unfinished([...new Set(damages)].join('; '), folder);
}

const unfinished = (problem: string, folder: string, cause?: unknown): StartError =>
  new StartError(
    `first start: ${problem}\n` +
      `divan: ${folder} has what was created before: start again with the same credentials to continue, or remove it to start over`,
    { cause },
  );

/** Checks that a resumed first start has the credentials with which it began. */
async function checkCredentials(target: RestTarget): Promise<void> {
  if ((await rest(target, 'GET', '/pools/default/buckets')).status !== 401) return;
  throw new Error(
    'it began with another --username or --password; give those, or start "divan node" without --username, --password, --bucket and --init',
  );
}

async function checkReady(
  node: Node,
  localAddress: string | undefined,
  { problem = null }: ConfigStore,
): Promise<void> {
  if (!(await node.applied()))
    throw new StartError('the data service did not apply its configuration in time');
  const account = node.manager.authority.isProvisioned() ? await makeOwnAccount('@divan-ready') : null;
  await node.setOwnAccounts(account === null ? [] : [account.spec]);
  const { readable } = await node.health();
  const target = { host: node.localHost, restPort: node.ports.mgmt, kvPort: node.ports.kv, localAddress };
  // Without the store no shard of a restarted node can confirm its epoch: documents wait for it.
  const buckets = problem === null ? readable : [];
  await untilReady({ ...target, account, buckets }, realClock);
}

/** The credentials if they are still valid; `refused` if their password or name was changed; null if there are none, or the node cannot check them now. */
async function stillValid(
  node: Node,
  localAddress: string | undefined,
  credentials: Credentials | null,
): Promise<Credentials | 'refused' | null> {
  if (credentials === null) return null;
  const target = { host: node.localHost, localAddress, port: node.ports.mgmt, ...credentials };
  const { status } = await rest(target, 'GET', '/pools');
  if (status === 401) return 'refused';
  return status === 200 ? credentials : null;
}
