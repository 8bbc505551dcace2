// Kills a node with SIGKILL while administrators work (create, change, flush and delete buckets, scopes and collections, users and
// their passwords, settings, certificates, compactions), while the node starts and while it stops, repeatedly on one data folder. After
// each restart acknowledged changes exist, interrupted ones exist completely or not at all, and no files are left over.
// `node test/stress/admin-kill.ts [rounds]`, default 50; DIVAN_SEED repeats a run.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { type Prng, prng } from '#base/prng.ts';
import { Status } from '#wire/status.ts';
import { dataClient, get, persisted, set } from '../support/data-client.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { printedSeed } from '../support/seed.ts';

type State = unknown;

/** A change that an administrator requests. */
interface Step {
  /** The state once the step is acknowledged; `anything` if only the answer tells it. */
  next: State;
  run(): Promise<Response | Answer>;
}

interface Answer {
  ok: boolean;
  status: number;
  /** The state that an answer without an error reports. */
  state?: State;
}

/** One object that an administrator manages: its possible states, how to change it, how to read it. */
abstract class Subject {
  abstract readonly name: string;
  /** The possible states: more than one after a step without an answer. */
  private candidates: State[];
  protected readonly random: Prng;

  constructor(random: Prng, state: State) {
    this.random = random;
    this.candidates = [state];
  }

  protected abstract step(node: NodeProcess, state: never): Step | null;
  protected abstract see(node: NodeProcess): Promise<State>;

  async work(node: NodeProcess, stopped: { now: boolean }): Promise<void> {
    while (!stopped.now && this.candidates.length === 1) {
      const [state] = this.candidates;
      const step = this.step(node, state as never);
      if (step === null) return;
      this.candidates = [state, step.next];
      const answer = await step.run().catch(() => null);
      if (answer?.ok) this.candidates = ['state' in answer ? answer.state : step.next];
      else if (answer !== null && answer.status < 500 && !stopped.now)
        throw new Error(`${this.name}: ${answer.status} ${JSON.stringify([state, step.next])}`);
    }
  }

  async check(node: NodeProcess): Promise<void> {
    const seen = await this.see(node);
    const isAllowed = this.candidates.some(
      (candidate) => candidate === anything || isDeepStrictEqual(candidate, seen),
    );
    const candidateTexts = this.candidates.map((candidate) => JSON.stringify(candidate)).join(' or ');
    assert.ok(isAllowed, `${this.name} is ${JSON.stringify(seen)}, not ${candidateTexts}`);
    this.candidates = [seen];
  }
}

/** A state that equals every other one. */
const anything = Symbol('anything');
const buckets = '/pools/default/buckets';

interface BucketState {
  ramQuotaMb: number;
  evictionPolicy: string;
  threadsNumber: number;
  /** The content of the only document of the bucket; null: the bucket has none. */
  document: string | null;
}

class ABucket extends Subject {
  readonly name: string;
  private version = 0;

  constructor(random: Prng, name: string) {
    super(random, null);
    this.name = name;
  }

  protected step(node: NodeProcess, state: BucketState | null): Step {
    if (state === null) return this.make(node);
    const document = `${this.name}-${++this.version}`;
    const path = `${buckets}/${this.name}`;
    const edit = (change: Partial<BucketState>): Step => {
      const next = { ...state, ...change };
      const { ramQuotaMb, evictionPolicy, threadsNumber } = next;
      const fields = { ramQuotaMB: `${ramQuotaMb}`, evictionPolicy, threadsNumber: `${threadsNumber}` };
      return { next, run: () => node.request(path, 'POST', fields) };
    };
    return this.random.pick<() => Step>([
      () => ({ next: null, run: () => node.request(path, 'DELETE') }),
      () => ({
        next: { ...state, document: null },
        run: () => node.request(`${path}/controller/doFlush`, 'POST'),
      }),
      () => ({ next: { ...state, document }, run: () => write(node, this.name, document) }),
      () => ({ next: { ...state, document }, run: () => write(node, this.name, document) }),
      () => edit({ evictionPolicy: state.evictionPolicy === 'valueOnly' ? 'fullEviction' : 'valueOnly' }),
      () => edit({ threadsNumber: state.threadsNumber === 3 ? 8 : 3 }),
      () => edit({ ramQuotaMb: 100 + this.random.below(20) }),
    ])();
  }

  private make(node: NodeProcess): Step {
    const next = { ramQuotaMb: 100, evictionPolicy: 'valueOnly', threadsNumber: 3, document: null };
    const fields = { name: this.name, ramQuotaMB: '100', flushEnabled: '1', replicaNumber: '0' };
    return { next, run: () => node.request(buckets, 'POST', fields) };
  }

  protected async see(node: NodeProcess): Promise<BucketState | null> {
    const answer = await node.request(`${buckets}/${this.name}`);
    if (answer.status === 404) return null;
    const { quota, evictionPolicy, threadsNumber } = (await answer.json()) as {
      quota: { rawRAM: number };
      evictionPolicy: string;
      threadsNumber: number;
    };
    const document = await read(node, this.name);
    return { ramQuotaMb: quota.rawRAM / 2 ** 20, evictionPolicy, threadsNumber, document };
  }
}

async function write(node: NodeProcess, bucket: string, text: string): Promise<Answer> {
  // Once the node was killed no attempt succeeds.
  const client = await eventually(() => (node.running ? dataClient(node, bucket) : null));
  if (client === null) throw new Error('the node has ended');
  try {
    for (;;) {
      const { status } = await client.ask(set('document', text, { magic: 0x08, framing: persisted }));
      if (status === Status.success) return { ok: true, status };
      if (status !== Status.temporaryFailure) return { ok: false, status: 500 + status };
    }
  } finally {
    client.close();
  }
}

/** Repeats the read while a bucket that has just begun to load refuses it. */
async function read(node: NodeProcess, bucket: string): Promise<string | null> {
  const client = await eventually(() => dataClient(node, bucket));
  const { status, value } = await eventually(async () => {
    const reply = await client.ask(get('document'));
    assert.notEqual(reply.status, Status.temporaryFailure, `reading from ${bucket}`);
    return reply;
  });
  client.close();
  if (status === Status.keyNotFound) return null;
  assert.equal(status, Status.success, `reading from ${bucket}`);
  return value.toString();
}

/** Sorted paths of the scopes and collections in bucket `b`. */
class CollectionsOfB extends Subject {
  readonly name = 'collections';

  protected step(node: NodeProcess, present: string[]): Step {
    const scope = `s${this.random.below(3)}`;
    const path = `${buckets}/b/scopes`;
    if (!present.includes(scope))
      return { next: [...present, scope].sort(), run: () => node.request(path, 'POST', { name: scope }) };
    if (this.random.below(6) === 0) {
      const next = present.filter((other) => other.split('.')[0] !== scope);
      return { next, run: () => node.request(`${path}/${scope}`, 'DELETE') };
    }
    const name = `c${this.random.below(4)}`;
    const full = `${scope}.${name}`;
    if (present.includes(full)) {
      const next = present.filter((other) => other !== full);
      return { next, run: () => node.request(`${path}/${scope}/collections/${name}`, 'DELETE') };
    }
    const run = () => node.request(`${path}/${scope}/collections`, 'POST', { name });
    return { next: [...present, full].sort(), run };
  }

  protected async see(node: NodeProcess): Promise<string[]> {
    const { scopes } = (await (await node.request(`${buckets}/b/scopes`)).json()) as {
      scopes: { name: string; collections: { name: string }[] }[];
    };
    const userScopes = scopes.filter(({ name }) => !name.startsWith('_'));
    return userScopes
      .flatMap(({ name, collections }) => [
        name,
        ...collections.map((collection) => `${name}.${collection.name}`),
      ])
      .sort();
  }
}

/** The password of a user; null if the user does not exist. */
class AUser extends Subject {
  readonly name: string;
  private version = 0;

  constructor(random: Prng, name: string) {
    super(random, null);
    this.name = name;
  }

  protected step(node: NodeProcess, password: string | null): Step {
    const path = `/settings/rbac/users/local/${this.name}`;
    if (password !== null && this.random.below(3) === 0)
      return { next: null, run: () => node.request(path, 'DELETE') };
    const next = `password-${++this.version}`;
    return { next, run: () => node.request(path, 'PUT', { password: next, roles: 'ro_admin' }) };
  }

  protected async see(node: NodeProcess): Promise<State> {
    if ((await node.request(`/settings/rbac/users/local/${this.name}`)).status === 404) return null;
    for (let version = this.version; version > 0; version--) {
      const authorization = `Basic ${btoa(`${this.name}:password-${version}`)}`;
      const answer = await fetch(`${node.ready.node.rest}/pools/default`, { headers: { authorization } });
      if (answer.status === 200) return `password-${version}`;
    }
    return 'none of its passwords';
  }
}

class ASetting extends Subject {
  readonly name = 'fragmentation threshold';

  protected step(node: NodeProcess): Step {
    const next = 2 + this.random.below(98);
    const fields = {
      'databaseFragmentationThreshold[percentage]': `${next}`,
      parallelDBAndViewCompaction: 'false',
    };
    return { next, run: () => node.request('/controller/setAutoCompaction', 'POST', fields) };
  }

  protected async see(node: NodeProcess): Promise<State> {
    const { autoCompactionSettings } = (await (await node.request('/settings/autoCompaction')).json()) as {
      autoCompactionSettings: { databaseFragmentationThreshold: { percentage: number } };
    };
    return autoCompactionSettings.databaseFragmentationThreshold.percentage;
  }
}

const certificatePath = '/pools/default/certificate';

/** The root certificate of the cluster, as PEM. */
class Certificate extends Subject {
  readonly name = 'certificate';

  /** Most steps only read, so that a kill often finds a certificate whose change was acknowledged. */
  protected step(node: NodeProcess, pem: string): Step {
    if (this.random.below(8) > 0) return { next: pem, run: () => this.read(node, pem) };
    return { next: anything, run: () => this.regenerate(node) };
  }

  private async read(node: NodeProcess, expected: string): Promise<Answer> {
    const answer = await node.request(certificatePath);
    return { ok: (await answer.text()) === expected, status: answer.status };
  }

  private async regenerate(node: NodeProcess): Promise<Answer> {
    const answer = await node.request('/controller/regenerateCertificate', 'POST');
    return { ok: answer.ok, status: answer.status, state: await answer.text() };
  }

  protected async see(node: NodeProcess): Promise<State> {
    const pem = await (await node.request(certificatePath)).text();
    assert.equal(new X509Certificate(pem).ca, true);
    return pem;
  }
}

class Compaction extends Subject {
  readonly name = 'compaction';

  protected step(node: NodeProcess): Step {
    return { next: null, run: () => node.request(`${buckets}/b/controller/compactBucket`, 'POST') };
  }

  protected async see(): Promise<State> {
    return null;
  }
}

const pause = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));

export async function adminKillRounds(
  rounds: number,
  seed: number,
  report: (line: string) => void = () => {},
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-admin-kill-'));
  const random = prng(seed);
  const subjects = [
    ...['x', 'y', 'z'].map((name) => new ABucket(random, name)),
    ...['ann', 'bob'].map((name) => new AUser(random, name)),
    new ASetting(random, 30),
    new Certificate(random, anything),
    new Compaction(random, null),
    new CollectionsOfB(random, []),
  ];
  for (let round = 1; round <= rounds; round++) report(await oneRound(dataDir, subjects, random, round));
  rmSync(dataDir, { recursive: true, force: true });
}

async function oneRound(dataDir: string, subjects: Subject[], random: Prng, round: number): Promise<string> {
  if (random.below(4) === 0) await startAndKill(dataDir, random.below(700));
  const startedMs = performance.now();
  await using node = await NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  const startMs = Math.round(performance.now() - startedMs);
  for (const subject of subjects) await subject.check(node);
  await eventually(() => checkLeftovers(dataDir, node));
  const stopped = { now: false };
  const work = subjects.map((subject) => subject.work(node, stopped));
  await pause(30 + random.below(800));
  stopped.now = true;
  const isStopping = random.below(3) === 0;
  if (isStopping) {
    process.kill(node.pid, 'SIGTERM');
    await pause(random.below(60));
  }
  await node.stop('SIGKILL');
  await Promise.all(work);
  return `round ${round}: started in ${startMs} ms, killed ${isStopping ? 'while it stopped' : 'at work'}`;
}

/** Kills a process before it is ready, or soon after. */
async function startAndKill(dataDir: string, afterMs: number): Promise<void> {
  const node = NodeProcess.start({ dataDir, args: ['--bucket', 'b'] });
  const before = holder(dataDir);
  const ended = node.then((started) => started.stop('SIGKILL')).catch(() => {});
  await pause(afterMs);
  const pid = holder(dataDir);
  if (pid !== null && pid !== before && existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
  await ended;
}

/** The process that holds the lock of the folder, or held it when it was killed. */
function holder(dataDir: string): number | null {
  try {
    return Number(readFileSync(join(dataDir, 'lock.pid'), 'utf8')) || null;
  } catch {
    return null;
  }
}

const knownFiles = new Set(
  [
    'buckets',
    'config.db',
    'config.db-commits',
    'events',
    'index',
    'logs',
    'metrics',
    'node.id',
    'query-attempts.json',
    'query-tmp',
    'lock.db',
    'lock.pid',
    'reserve',
    'secret.key',
  ].flatMap((name) => [name, `${name}-wal`, `${name}-shm`, `${name}-journal`]),
);

/** Checks that every file belongs to an existing object. */
async function checkLeftovers(dataDir: string, node: NodeProcess): Promise<void> {
  const unknown = readdirSync(dataDir).filter((name) => !knownFiles.has(name));
  assert.deepEqual(unknown, [], 'files in the data folder');
  const live = (await (await node.request(buckets)).json()) as { uuid: string }[];
  const uuids = live.map(({ uuid }) => uuid).sort();
  assert.deepEqual(readdirSync(join(dataDir, 'buckets')).sort(), uuids, 'folders of buckets');
  for (const uuid of uuids) checkBucketFolder(join(dataDir, 'buckets', uuid));
  const store = new DatabaseSync(join(dataDir, 'config.db'), { readOnly: true });
  const rows = store.prepare("select key from entry where key like 'manifest/%'").all() as { key: string }[];
  store.close();
  const orphans = rows.filter(({ key }) => !uuids.includes(key.slice('manifest/'.length)));
  assert.deepEqual(orphans, [], 'manifests without a bucket');
}

function checkBucketFolder(folder: string): void {
  const { generations } = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8'));
  const named = (generations as number[]).map((generation, file) => `data-${file}.${generation}.db`);
  const files = globSync('*', { cwd: folder }).map((name) => name.replace(/-(wal|shm|commits)$/, ''));
  assert.deepEqual([...new Set(files)].sort(), [...named, 'files.json'].sort(), `files of ${folder}`);
}

if (import.meta.main) {
  const seed = printedSeed(console.log);
  await adminKillRounds(Number(process.argv[2] ?? 50), seed, console.log);
  process.exit(0);
}
