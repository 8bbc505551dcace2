// The REST API of a running node, for commands: answers as values, refusals as errors in one line.

import { connectionProblem } from '#client/connection-problem.ts';
import { type RestContent, type RestReply, type RestTarget, refusal, rest } from '#client/rest.adapter.ts';
import { type CommandTarget, commandTarget, passwordOf } from '../connection-options.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';

export interface RemoteOptions {
  readonly url: string;
  readonly ca: string | undefined;
  readonly username: string;
  readonly password: string | undefined;
  readonly 'password-file': string | undefined;
}

const timeoutMs = 60_000;

export class RemoteNode {
  readonly url: string;
  readonly account: { readonly username: string; readonly password: string };
  readonly address: CommandTarget;
  private readonly target: RestTarget;

  constructor(options: RemoteOptions) {
    this.address = commandTarget(options);
    this.url = options.url;
    this.account = { username: options.username, password: passwordOf(options) };
    this.target = { ...this.address, ...this.account, timeoutMs };
  }

  async get(path: string): Promise<unknown> {
    const { body } = await this.request('GET', path);
    try {
      return JSON.parse(body);
    } catch {
      throw new CommandError(`GET ${path}: the answer is not JSON; is ${this.url} the address of a node?`);
    }
  }

  /** @throws CommandError for any refusal; its exit status is `missing` for 404 */
  async request(method: string, path: string, content?: RestContent): Promise<RestReply> {
    const reply = await this.send(method, path, content);
    if (reply.status < 300) return reply;
    if (reply.status === 401)
      throw new CommandError(`the node refuses the user "${this.account.username}" with this password`);
    const { message } = refusal(method, path, reply);
    throw new CommandError(message, reply.status === 404 ? ExitStatus.missing : ExitStatus.failure);
  }

  /** Resolves with any status. */
  async send(method: string, path: string, content?: RestContent): Promise<RestReply> {
    try {
      return await rest(this.target, method, path, content);
    } catch (error) {
      throw new CommandError(`--url: cannot reach ${this.url}: ${connectionProblem(error)}`);
    }
  }
}

/** A path with encoded parts: names may have any character. */
export const urlPath = (parts: TemplateStringsArray, ...names: readonly string[]): string =>
  parts.reduce((path, part, index) => `${path}${encodeURIComponent(names[index - 1] as string)}${part}`);

/** The fields that were given, by their names in the API. */
export const givenFields = (
  fields: Readonly<Record<string, string | number | boolean | undefined>>,
): Record<string, string | number | boolean> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
    string,
    string | number | boolean
  >;
