// The table-driven test of settings. For every parameter: each limit is written, read back, and read back again after a
// restart; a value beyond each limit, wrong types and a missing value are refused with the expected key and text, or read as the
// default, and change nothing. Run a table against the manager (fast, each value with a restart on the real store's file):
//
//   await using target = await managerTarget();
//   await checkSettings(t, target, {
//     write: '/settings/indexes', read: '/settings/indexes', refusal: refusals.fields,
//     parameters: [
//       { name: 'numReplica', good: [['0', 0], ['16', 16]], missing: { reads: 0 },
//         bad: [['17', 'The value must be in range from 0 to 16'], ['x', 'The value must be an integer']] },
//     ],
//   });
//
// and, where an effect needs the process, against `processTarget()`, which kills and starts a node per parameter.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { EmbeddedConfigStore } from '#replog/embedded-config-store.adapter.ts';
import { aManager, type ManagerOptions } from './manager.ts';
import { NodeProcess, type NodeSettings } from './node-process.ts';

type Fields = Record<string, string>;

export interface Parameter {
  readonly name: string;
  /** Accepted values, each with the value that is read afterwards: both limits, and values between them that are special. */
  readonly good?: readonly (readonly [sent: string, reads: unknown])[];
  /** Refused values, each with the text of the refusal, and its key if that is not the parameter's name. */
  readonly bad?: readonly (readonly [sent: string, text: string, key?: string])[];
  /** A request without this parameter: the value that is read afterwards, or the refusal. */
  readonly missing: { readonly reads: unknown } | { readonly text: string; readonly key?: string };
  /** Reads the value from the answer; default: under the parameter's name (`a[b]` is `a.b`). */
  readonly find?: (answer: never) => unknown;
  /** Further fields that requests with this parameter need. */
  readonly with?: Fields;
}

export interface SettingsTable {
  readonly write: string;
  readonly read: string;
  /** Default POST. */
  readonly method?: 'POST' | 'PUT';
  /** Fields of every request: those that are required. */
  readonly base?: Fields;
  /** The status of an accepted request; default 200. */
  readonly status?: number;
  /** The status of a refused request; default 400. */
  readonly refusedStatus?: number;
  /** The whole body of a refusal for one wrong parameter. */
  readonly refusal: (key: string, text: string) => unknown;
  readonly parameters: readonly Parameter[];
}

/** The values of a boolean parameter; others are refused with this text. */
export const booleanValues = (text: string) =>
  ({
    good: [
      ['true', true],
      ['false', false],
    ],
    bad: ['', '0', '1', 'True'].map((value) => [value, text] as const),
  }) as const;

/** The published shapes of refusals. */
export const refusals = {
  fields: (key: string, text: string) => ({ errors: { [key]: text } }),
  bare: (key: string, text: string) => ({ [key]: text }),
  list: (key: string, text: string) => ({ errors: [`${key} - ${text}`] }),
  text: (_key: string, text: string) => text,
};

interface Answer {
  status: number;
  /** Parsed where it is JSON, the text otherwise. */
  body: unknown;
}

/** A restartable target with settings. */
export interface SettingsTarget extends AsyncDisposable {
  send(method: string, path: string, form?: Fields): Promise<Answer>;
  restart(): Promise<void>;
  /** After which accepted writes of a parameter to restart; a restart of a process takes long. */
  readonly restartAfter: 'every value' | 'the last value';
}

export interface ManagerTargetOptions extends Omit<ManagerOptions, 'store'> {
  /** Called for each request: its credentials as `name:password`, or null for none. Default: those of the administrator. */
  as?: () => string | null;
}

/** The cluster manager over the real store's file; a restart opens the file again with everything new. */
export async function managerTarget(options: ManagerTargetOptions = {}): Promise<SettingsTarget> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-settings-'));
  const open = async (provisioned: boolean | undefined) => {
    const store = new EmbeddedConfigStore(join(folder, 'config.db'));
    const manager = await aManager({ ...options, store, ...(provisioned === false && { provisioned }) });
    return { ...manager, store };
  };
  let running = await open(options.provisioned);
  const close = async () => {
    await running.manager.stop();
    await running.store[Symbol.asyncDispose]();
  };
  return {
    restartAfter: 'every value',
    async send(method, path, form) {
      const { status, body, text } = await running.request(path, {
        method: method as 'POST',
        ...(form && { form }),
        ...(options.as && { as: options.as() }),
      });
      return { status, body: body ?? text };
    },
    async restart() {
      await close();
      running = await open(false);
    },
    async [Symbol.asyncDispose]() {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A node of its own; a restart kills it without warning. */
export async function processTarget(settings: NodeSettings = {}): Promise<SettingsTarget> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-settings-'));
  let node = await NodeProcess.start({ ...settings, dataDir: folder });
  return {
    restartAfter: 'the last value',
    async send(method, path, form) {
      const response = await node.request(path, method, form);
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
      return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : text };
    },
    async restart() {
      await node.stop('SIGKILL');
      node = await NodeProcess.start({ ...settings, dataDir: folder });
    },
    async [Symbol.asyncDispose]() {
      await node.stop('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the whole table; one assertion lists all failures. */
export async function checkSettings(
  t: TestContext,
  target: SettingsTarget,
  table: SettingsTable,
): Promise<void> {
  const run = new Run(target, table);
  for (const parameter of table.parameters) {
    await run.goodValues(parameter);
    await run.badValues(parameter);
    await run.missing(parameter);
  }
  t.diagnostic(`${table.write}: ${table.parameters.length} parameters, ${run.checks} checks`);
  t.assert.ok(run.checks > 0, 'the table is empty');
  t.assert.deepEqual(run.wrong, []);
}

class Run {
  readonly wrong: string[] = [];
  checks = 0;
  readonly #target: SettingsTarget;
  readonly #table: SettingsTable;

  constructor(target: SettingsTarget, table: SettingsTable) {
    this.#target = target;
    this.#table = table;
  }

  async goodValues(parameter: Parameter): Promise<void> {
    const values = parameter.good ?? [];
    for (const [index, [sent, reads]] of values.entries()) {
      const title = `${parameter.name}=${JSON.stringify(sent)}`;
      const answer = await this.#write({ ...parameter.with, [parameter.name]: sent });
      this.#expect(`${title}: answer`, answer.status, this.#table.status ?? 200, answer.body);
      this.#expect(`${title}: read back`, await this.#valueOf(parameter), reads);
      const isLast = index === values.length - 1;
      if (!isLast && this.#target.restartAfter === 'the last value') continue;
      await this.#target.restart();
      this.#expect(`${title}: read back after a restart`, await this.#valueOf(parameter), reads);
    }
  }

  async badValues(parameter: Parameter): Promise<void> {
    const before = await this.#readAll();
    for (const [sent, text, key] of parameter.bad ?? []) {
      const fields = { ...parameter.with, [parameter.name]: sent };
      await this.#refused(`${parameter.name}=${JSON.stringify(sent)}`, fields, key ?? parameter.name, text);
    }
    this.#expect(`${parameter.name}: after the refusals`, await this.#readAll(), before);
  }

  async missing(parameter: Parameter): Promise<void> {
    const title = `without ${parameter.name}`;
    const { [parameter.name]: _, ...fields } = { ...this.#table.base, ...parameter.with };
    if ('text' in parameter.missing) {
      const { text, key } = parameter.missing;
      await this.#refused(title, fields, key ?? parameter.name, text, parameter.name);
      return;
    }
    const answer = await this.#write(fields, parameter.name);
    this.#expect(`${title}: answer`, answer.status, this.#table.status ?? 200, answer.body);
    this.#expect(`${title}: read back`, await this.#valueOf(parameter), parameter.missing.reads);
  }

  async #refused(title: string, fields: Fields, key: string, text: string, without?: string): Promise<void> {
    const answer = await this.#write(fields, without);
    this.#expect(`${title}: answer`, answer.status, this.#table.refusedStatus ?? 400, answer.body);
    this.#expect(`${title}: refusal`, answer.body, this.#table.refusal(key, text));
  }

  #write(fields: Fields, without = ''): Promise<Answer> {
    const { [without]: _, ...form } = { ...this.#table.base, ...fields };
    return this.#target.send(this.#table.method ?? 'POST', this.#table.write, form);
  }

  async #readAll(): Promise<unknown> {
    return (await this.#target.send('GET', this.#table.read)).body;
  }

  async #valueOf({ name, find }: Parameter): Promise<unknown> {
    const answer = await this.#readAll();
    return find ? find(answer as never) : underName(answer, name);
  }

  #expect(title: string, found: unknown, expected: unknown, hint?: unknown): void {
    this.checks++;
    if (isDeepStrictEqual(found, expected)) return;
    const more = hint === undefined ? '' : ` (${JSON.stringify(hint)})`;
    this.wrong.push(`${title}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}${more}`);
  }
}

/** `a[b][c]` is found under `a`, `b`, `c`. */
function underName(answer: unknown, name: string): unknown {
  const steps = name.split(/[[\]]+/).filter((step) => step !== '');
  return steps.reduce((value, step) => (value as Record<string, unknown> | undefined)?.[step], answer);
}
