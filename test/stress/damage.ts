// Damages one file of a copied data folder at a time (flipped bits, truncation, zeros, missing files, older copies) and starts a node,
// or a cloud, on it: nothing acknowledged is wrong or missing without a report, and files reported as damaged are left unchanged.
// `node test/stress/damage.ts [rounds]`, default 100; DIVAN_SEED repeats a run.
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Status } from '#wire/status.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { dataClient, get, persisted, set } from '../support/data-client.ts';
import { administrator, eventually, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';

const documents = 64;
const projectsPerStart = 5;
const textOf = (at: number): string => JSON.stringify({ n: at, text: 'x'.repeat(at * 50) });
/** Spreads the documents over all data files of the bucket. */
const vbOf = (at: number): number => at * 15;
const services = ['--services', 'kv,index,n1ql'];

interface Template {
  /** The data folder after the process was stopped. */
  readonly stopped: string;
  /** The data folder after the process was killed. */
  readonly killed: string;
  /** A copy of the data folder from before the last documents, projects and settings. */
  readonly older: string;
}

export interface Harm {
  readonly file: string;
  readonly what: string;
  apply(folder: string): void;
}

export async function damageRounds(
  /** A number of rounds, or the time of `performance.now()` at which no further round begins. */
  rounds: number | { untilMs: number },
  random: Random,
  report: (line: string) => void,
): Promise<Map<string, number>> {
  const findings: string[] = [];
  const scratch = mkdtempSync(join(tmpdir(), 'divan-damage-'));
  const outcomes = new Map<string, number>();
  try {
    const node = await nodeTemplate(scratch);
    let cloud: Template | null = null;
    const isOver = (round: number): boolean =>
      typeof rounds === 'number' ? round > rounds : performance.now() >= rounds.untilMs;
    for (let round = 1; !isOver(round); round++) {
      const isCloud = random(5) === 0;
      // A short run may damage no cloud.
      if (isCloud) cloud ??= await cloudTemplate(scratch);
      const template = isCloud && cloud !== null ? cloud : node;
      const folder = join(scratch, `round-${round}`);
      const source = random(2) === 0 ? template.stopped : template.killed;
      cpSync(source, folder, { recursive: true });
      const harm = aHarm(folder, template.older, random);
      harm.apply(folder);
      const outcome = await outcomeOf(folder, harm, isCloud).catch((error: Error) => {
        findings.push(`round ${round}, ${basename(source)}, ${harm.what} of ${harm.file}: ${error.message}`);
        report(findings.at(-1) ?? '');
        return 'a finding';
      });
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      report(`${isCloud ? 'cloud' : 'node'}: ${harm.what} of ${harm.file}: ${outcome}`);
      rmSync(folder, { recursive: true, force: true });
    }
    assert.deepEqual(findings, []);
    return outcomes;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function nodeTemplate(scratch: string): Promise<Template> {
  const template = {
    stopped: join(scratch, 'stopped'),
    killed: join(scratch, 'killed'),
    older: join(scratch, 'older'),
  };
  {
    await using node = await NodeProcess.start({
      dataDir: template.killed,
      args: [...services, '--bucket', 'b', '--bucket', 'other'],
    });
    await write(node, 0, documents / 2);
    await query(node, 'create index by_n on b(n)');
    await node.request('/settings/rbac/users/local/u', 'PUT', {
      password: 'password',
      roles: 'data_reader[b]',
    });
    await node.stop('SIGKILL');
    cpSync(template.killed, template.older, { recursive: true });
  }
  {
    await using node = await NodeProcess.start({ dataDir: template.killed, args: services });
    await write(node, documents / 2, documents);
    await node.request('/pools/default/buckets/b/scopes', 'POST', { name: 's' });
    await eventually(async () => assert.equal((await rowsOf(node)).length, documents));
    await node.stop('SIGKILL');
  }
  cpSync(template.killed, template.stopped, { recursive: true });
  await using node = await NodeProcess.start({ dataDir: template.stopped, args: services });
  await node.stop();
  return template;
}

async function write(node: NodeProcess, from: number, to: number): Promise<void> {
  const client = await dataClient(node);
  for (let at = from; at < to; at++) {
    const written = await client.ask(set(`k${at}`, textOf(at), { vb: vbOf(at), framing: persisted }));
    assert.equal(written.status, Status.success);
  }
  client.close();
}

async function query(node: NodeProcess, statement: string): Promise<{ results: unknown[]; status: string }> {
  const answer = await fetch(`${node.ready.node.query}/query/service`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${administrator.username}:${administrator.password}`)}` },
    body: new URLSearchParams({ statement, scan_consistency: 'request_plus', timeout: '5s' }),
  });
  return (await answer.json()) as { results: unknown[]; status: string };
}

const rowsOf = async (node: NodeProcess): Promise<unknown[]> =>
  (await query(node, 'select raw n from b where n >= 0 order by n')).results;

async function cloudTemplate(scratch: string): Promise<Template> {
  const template = {
    stopped: join(scratch, 'cloud-stopped'),
    killed: join(scratch, 'cloud-killed'),
    older: join(scratch, 'cloud-older'),
  };
  for (const from of [0, projectsPerStart]) {
    await using cloud = await CloudProcess.start({ dataDir: template.killed });
    for (let at = from; at < from + projectsPerStart; at++) {
      const creation = await cloud.request('POST', '/v2/projects', { name: `p${at}` });
      assert.equal(creation.status, 201);
    }
    await cloud.stop('SIGKILL');
    if (from === 0) cpSync(template.killed, template.older, { recursive: true });
  }
  cpSync(template.killed, template.stopped, { recursive: true });
  await using cloud = await CloudProcess.start({ dataDir: template.stopped });
  await cloud.stop();
  return template;
}

/** Chooses each kind of file equally often, however many files of it there are. */
function aHarm(folder: string, older: string, random: Random): Harm {
  const kinds = new Map<string, string[]>();
  for (const file of filesIn(folder)) {
    const kind = file.replace(/[0-9a-f]{16,}|\d+/g, '#');
    kinds.set(kind, [...(kinds.get(kind) ?? []), file]);
  }
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  const file = pick(pick([...kinds.values()]));
  const path = (root: string): string => join(root, file);
  const size = statSync(path(folder)).size;
  const at = random(Math.max(size, 1));
  const length = Math.min(1 + random(600), size - at);
  const bit = 1 << random(8);
  const change = (act: (bytes: Buffer) => void) => (root: string) => {
    const bytes = readFileSync(path(root));
    act(bytes);
    writeFileSync(path(root), bytes);
  };
  const removal = { what: 'removal', apply: (root: string) => rmSync(path(root)) };
  if (size === 0) return { file, ...removal };
  const harms = [
    {
      what: `flip of bit ${bit} at ${at} of ${size}`,
      apply: change((bytes) => bytes.writeUInt8(bytes.readUInt8(at) ^ bit, at)),
    },
    { what: `${length} zeros at ${at} of ${size}`, apply: change((bytes) => bytes.fill(0, at, at + length)) },
    {
      what: `${length} equal bytes at ${at} of ${size}`,
      apply: change((bytes) => bytes.fill(random(255) + 1, at, at + length)),
    },
    { what: `cut at ${at} of ${size}`, apply: (root: string) => truncateSync(path(root), at) },
    { what: 'emptying', apply: (root: string) => truncateSync(path(root), 0) },
    removal,
    {
      what: 'older copy',
      apply: (root: string) =>
        filesIn(older).includes(file) ? cpSync(path(older), path(root)) : removal.apply(root),
    },
  ];
  return { file, ...pick(harms) };
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((file) => !processFiles.test(file))
    .sort();

/** Files whose content is not needed after the process ended. */
const processFiles = /^reserve$|-shm$|lock\.db-journal$|^ready/;

/** Databases and their logs, which stay unchanged when a start refuses them. */
const preserved = /\.db(-wal)?$/;

async function outcomeOf(folder: string, harm: Harm, isCloud: boolean): Promise<string> {
  const path = join(folder, harm.file);
  const harmed = existsSync(path) ? readFileSync(path) : null;
  const outcome = await (isCloud ? cloudOutcome(folder) : nodeOutcome(folder));
  if (outcome === 'refused' && preserved.test(harm.file)) {
    const now = existsSync(path) ? readFileSync(path) : null;
    assert.ok(harmed === null ? now === null : now?.equals(harmed), 'the damaged file was changed');
  }
  return outcome;
}

const damageReport = /damaged +bucket "b"/;

/** Returns whether the node refused to start, reported damage, or serves all documents. Throws when a check fails. */
async function nodeOutcome(folder: string): Promise<string> {
  let node: NodeProcess;
  try {
    node = await NodeProcess.start({ dataDir: folder, args: services, startMs: startTimeoutMs });
  } catch (error) {
    return checkRefusal((error as Error).message);
  }
  await using running = node;
  const statuses = await statusesOf(running);
  const found = statuses.get(Status.success) ?? 0;
  assert.equal(statuses.get(Status.keyNotFound) ?? 0, 0, 'documents are missing without a report');
  if (found < documents) await eventually(() => assert.match(running.output, damageReport));
  const user = await running.request('/settings/rbac/users/local/u');
  assert.equal(user.status, 200, 'the user is missing');
  const scopes = await (await running.request('/pools/default/buckets/b/scopes')).text();
  assert.match(scopes, /"name":"s"/, 'the scope is missing');
  if (found === documents) await checkIndex(running);
  assert.ok(running.running, running.output);
  assert.equal(await running.stop(), 0, running.output.slice(-500));
  return found === documents ? 'all there' : 'reported as damaged';
}

/**
 * How many documents are answered with which status; each value must be the written one. Both a warm-up and damage cause temporary
 * failures: those that remain after the warm-up are from damage. A late reply is no failure: a shared machine can be slow.
 */
async function statusesOf(node: NodeProcess): Promise<Map<number, number>> {
  for (let tries = 1; ; tries++) {
    const statuses = await readAll(node).catch((error: Error) => {
      if (tries >= slowTries || !error.message.startsWith('no reply within')) throw error;
      return null;
    });
    if (statuses !== null && (tries >= warmUpTries || !statuses.has(Status.temporaryFailure)))
      return statuses;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const slowTries = 2;
const warmUpTries = 100;
/** For a start, and for an index that is built again because it was damaged. */
const startTimeoutMs = 120_000;

async function readAll(node: NodeProcess): Promise<Map<number, number>> {
  const client = await dataClient(node);
  const statuses = new Map<number, number>();
  client.send(...Array.from({ length: documents }, (_, at) => get(`k${at}`, { vb: vbOf(at), opaque: at })));
  for (let at = 0; at < documents; at++) {
    const reply = await client.next();
    assert.ok(reply, 'the connection was closed');
    if (reply.status === Status.success)
      assert.equal(reply.value.toString(), textOf(reply.opaque), `k${reply.opaque} has another value`);
    statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
  }
  client.close();
  return statuses;
}

/** Waits until the index is online; fails if an answer lacks rows, also while a damaged index is built again. */
async function checkIndex(node: NodeProcess): Promise<void> {
  const all = Array.from({ length: documents }, (_, at) => at);
  let wrong: unknown[] | null = null;
  await eventuallyWithin(startTimeoutMs, async () => {
    const state = await query(node, "select raw state from system:indexes where name = 'by_n'");
    const { status, results } = await query(node, 'select raw n from b where n >= 0 order by n');
    if (status === 'success' && !isDeepStrictEqual(results, all)) {
      wrong = results;
      return;
    }
    assert.deepEqual([status, state.results], ['success', ['online']]);
  });
  assert.deepEqual(wrong ?? all, all, 'rows of the index are missing');
}

async function cloudOutcome(folder: string): Promise<string> {
  let cloud: CloudProcess;
  try {
    cloud = await CloudProcess.start({ dataDir: folder });
  } catch (error) {
    return checkRefusal((error as Error).message);
  }
  await using running = cloud;
  const { body } = await running.request('GET', '/v2/projects?perPage=100');
  const names = (body as { data: { name: string }[] }).data.map(({ name }) => name).sort();
  assert.deepEqual(
    names,
    Array.from({ length: 2 * projectsPerStart }, (_, at) => `p${at}`),
    'projects are missing',
  );
  assert.equal(await running.stop(), 0);
  return 'all there';
}

/** Checks the message of a process that did not start: one line that says why. */
function checkRefusal(message: string): string {
  assert.match(message, /ended with \d+: /, message);
  assert.doesNotMatch(message, /\n\s+at /, message);
  assert.doesNotMatch(message, /Unexpected|undefined|TypeError|SyntaxError/, message);
  return 'refused';
}

if (import.meta.main) {
  const random = randomFrom(printedSeed(console.log));
  console.log(await damageRounds(Number(process.argv[2] ?? 100), random, console.log));
}
