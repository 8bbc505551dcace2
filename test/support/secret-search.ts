// A node whose replies, log and files are searched for secrets in every common form.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { aManager } from './manager.ts';
import { administrator, NodeProcess } from './node-process.ts';
import { unzip } from './unzip.ts';

export interface Sent {
  method?: string;
  form?: Record<string, string>;
  /** A body that is sent unchanged. */
  raw?: string;
  /** `name:password`; null for none. Default: the administrator. */
  as?: string | null;
  headers?: Record<string, string>;
}

/** A stream sends its first value at once; the search reads no more of it after this time. */
const streamMs = 300;

export class WatchedNode {
  readonly node: NodeProcess;
  /** The current password of the administrator. */
  password: string;
  /** Headers and bodies of replies, by request. */
  readonly outputs = new Map<string, string>();
  readonly #secrets = new Map<string, string>();

  private constructor(node: NodeProcess, password: string) {
    this.node = node;
    this.password = password;
  }

  static async start(password: string): Promise<WatchedNode> {
    const args = ['--log-level', 'debug', '--bucket', 'b'];
    const watched = new WatchedNode(await NodeProcess.start({ password, args }), password);
    watched.secret('password at the start', password);
    return watched;
  }

  /** Adds a secret that no output may contain; returns it. */
  secret(title: string, value: string): string {
    this.#secrets.set(title, value);
    return value;
  }

  async call(path: string, sent: Sent = {}): Promise<{ status: number; text: string }> {
    const method = sent.method ?? (sent.form || sent.raw !== undefined ? 'POST' : 'GET');
    const credentials = sent.as === undefined ? `${administrator.username}:${this.password}` : sent.as;
    const authorization = `Basic ${Buffer.from(credentials ?? '').toString('base64')}`;
    const body = sent.form ? new URLSearchParams(sent.form) : sent.raw;
    const response = await fetch(`${this.node.ready.node.rest}${path}`, {
      method,
      headers: { ...(credentials !== null && { authorization }), ...sent.headers },
      ...(body !== undefined && { body }),
    });
    const text = await beginning(response);
    const where = `${method} ${path.split('?')[0]} (${this.outputs.size})`;
    this.outputs.set(where, `${JSON.stringify([...response.headers])}\n${text}`);
    return { status: response.status, text };
  }

  /** Sends GET to every route of the node; returns how many replies have status 200. */
  async readAll(parameters: Record<string, string>): Promise<number> {
    const { manager } = await aManager({ provisioned: false });
    const paths = manager.routes.filter(({ route }) => route.method === 'GET').map(({ route }) => route.path);
    await manager.stop();
    let answered = 0;
    for (const path of paths) {
      const url = path.replace(/:(\w+)/g, (_, name: string) => parameters[name] ?? 'absent');
      if ((await this.call(url)).status === 200) answered++;
    }
    return answered;
  }

  /** Each place where a secret was found, and in which form. Files that match `ownFiles` may contain secrets. */
  found(ownFiles: RegExp): string[] {
    const places = new Map([...this.outputs, ['the log', this.node.output]]);
    for (const path of filesBelow(this.node.dataDir)) {
      if (!ownFiles.test(path)) places.set(`file ${path}`, textOf(path));
    }
    return [...this.#secrets].flatMap(([title, secret]) =>
      [...formsOf(secret)].flatMap(([form, text]) =>
        [...places]
          .filter(([, content]) => content.includes(text))
          .map(([where]) => `${title} as ${form} in ${where}`),
      ),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.node[Symbol.asyncDispose]();
  }
}

async function beginning(response: Response): Promise<string> {
  if (response.headers.get('transfer-encoding') !== 'chunked') return await response.text();
  const reader = response.body?.getReader();
  const timer = setTimeout(() => void reader?.cancel(), streamMs);
  let text = '';
  for (;;) {
    const part = await reader?.read();
    if (!part || part.done) break;
    text += Buffer.from(part.value).toString();
  }
  clearTimeout(timer);
  return text;
}

/** The content of a file; of a zip file, the contents of its entries. */
const textOf = (path: string): string =>
  path.endsWith('.zip') ? [...unzip(readFileSync(path)).values()].join('\n') : readFileSync(path, 'latin1');

function* filesBelow(folder: string): Generator<string> {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const status = statSync(path);
    if (status.isDirectory()) yield* filesBelow(path);
    else if (status.isFile()) yield path;
  }
}

/** The forms in which a secret could be shown, by their names. */
function formsOf(secret: string): Map<string, string> {
  const bytes = Buffer.from(secret);
  // Base64 at each of the three byte offsets that text can have in a longer one, without the characters that depend on neighbouring bytes.
  const shifted = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    return encoded.replace(/=+$/, '').slice(shift === 0 ? 0 : shift + 1, -1);
  });
  return new Map([
    ['text', secret],
    ['hex', bytes.toString('hex')],
    ['text in JSON', JSON.stringify(secret).slice(1, -1)],
    ['text in a URL', encodeURIComponent(secret)],
    ...shifted.map((text, shift) => [`base64 (${shift})`, text] as const),
  ]);
}
