// Calls the backup service of a node, and waits for its tasks.
import assert from 'node:assert/strict';
import { administrator, eventually, type NodeProcess } from './node-process.ts';

export interface ShownTask {
  task_name: string;
  status: string;
  type: string;
  error?: string;
  target_cluster?: string;
  start: string;
  end: string;
  node_runs: { progress: number; stats: { transfers: { description: string; notes?: string[] }[] } }[];
}

export interface ShownRepository {
  id: string;
  state: string;
  plan_name: string;
  archive: string;
  repo: string;
  bucket?: { name: string; uuid: string };
  scheduled?: Record<string, { next_run: string; task_type: string }>;
  health?: { healthy: boolean; health_issue?: string };
  running_one_off?: Record<string, ShownTask>;
  running_tasks?: Record<string, ShownTask>;
}

export interface ShownInfo {
  name: string;
  size: number;
  count: number;
  backups: { date: string; type: string; complete: boolean; buckets: { name: string; items: number }[] }[];
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const administratorAuthorization = basic(administrator.username, administrator.password);
/** The path of the repositories of this cluster, which it calls `self`; the state and the id of a repository follow. */
export const self = '/cluster/self/repository';

export class BackupApi {
  private readonly base: string;

  constructor(node: NodeProcess) {
    this.base = `${node.ready.node.backup}/api/v1`;
  }

  send(
    method: string,
    path: string,
    body?: unknown,
    authorization = administratorAuthorization,
  ): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(`${this.base}${path}`, {
      method,
      headers: { authorization },
      ...(text !== undefined && { body: text }),
    });
  }

  /** The answer of a call that succeeds; null without a body. */
  // biome-ignore lint/suspicious/noExplicitAny: answers have many forms.
  async json(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.send(method, path, body);
    const text = await answer.text();
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** Status and text of a refusal. */
  async refusal(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; msg: string; extras?: string }> {
    const answer = await this.send(method, path, body);
    const refused = (await answer.json()) as { status: number; msg: string; extras?: string };
    assert.equal(refused.status, answer.status, `${method} ${path}`);
    return refused;
  }

  /** `state`: the state of the repository (`active`, `archived`, `imported`). */
  repository(id: string, state = 'active'): Promise<ShownRepository> {
    return this.json('GET', `${self}/${state}/${id}`);
  }

  info(id: string, state = 'active'): Promise<ShownInfo> {
    return this.json('GET', `${self}/${state}/${id}/info`);
  }

  history(id: string, state = 'active', query = ''): Promise<ShownTask[]> {
    return this.json('GET', `${self}/${state}/${id}/taskHistory${query}`);
  }

  /** Starts a task and waits for its end. */
  async run(
    id: string,
    task: 'backup' | 'merge' | 'restore',
    body: unknown,
    state = 'active',
  ): Promise<ShownTask> {
    const { task_name: name } = await this.json('POST', `${self}/${state}/${id}/${task}`, body);
    return await this.ended(id, name, state);
  }

  /** Waits for the end of a task, and returns the task. */
  async ended(id: string, name: string, state = 'active'): Promise<ShownTask> {
    let found: ShownTask | undefined;
    await eventually(async () => {
      found = (await this.history(id, state)).find((task) => task.task_name === name);
      assert.notEqual(found?.status ?? 'running', 'running');
    });
    return found as ShownTask;
  }
}
