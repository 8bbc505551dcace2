// Reads the passphrase of a private key from scripts and HTTP services.
import { type ChildProcess, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join, normalize, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { http, https } from '#ports/node-http.ts';
import { type PassphraseSources, withoutSecrets } from '../passphrase.ts';

const answerBytesMax = 64 * 1024;

export class RealPassphraseSources implements PassphraseSources {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async scriptProblem(path: string): Promise<string | null> {
    if (path.split('/').includes('..')) {
      return 'Path must not contain parent directory segments (..) for security reasons';
    }
    const absolute = this.#scriptPath(path);
    if (!absolute.startsWith(this.#folder + sep)) {
      return `Script must reside in ${this.#folder} for security reasons`;
    }
    const isFile = await stat(absolute).then(
      (found) => found.isFile(),
      () => false,
    );
    return isFile ? null : `File ${absolute} doesn't exist or not a regular file`;
  }

  async run({ path, args, timeoutMs }: Parameters<PassphraseSources['run']>[0]): Promise<string> {
    // The script leads a process group, so that the time limit also ends processes that it has started and that keep its output open.
    const child = spawn(this.#scriptPath(path), args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: {},
    });
    const [printed, errorOutput] = [collected(child.stdout), collected(child.stderr)];
    const timeout = AbortSignal.timeout(timeoutMs);
    const end = () => endGroup(child);
    timeout.addEventListener('abort', end, { once: true });
    const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
      child.once('error', (error) => reject(new Error(`Script execution failed: ${error.message}.`)));
      child.once('close', (code, signal) => resolve(code ?? signal));
    });
    const status = await ended.finally(() => timeout.removeEventListener('abort', end));
    if (status === 0) return printed();
    throw new Error(`Script exited with status ${status}:\n${errorOutput().trim()}`);
  }

  request({
    url,
    headers,
    timeoutMs,
    verifyPeer,
    family,
  }: Parameters<PassphraseSources['request']>[0]): Promise<string> {
    const urlText = withoutSecrets(url);
    return new Promise((resolve, reject) => {
      const { get } = url.startsWith('https:') ? https : http;
      const signal = AbortSignal.timeout(timeoutMs);
      // A single request: no connection is kept open.
      const options = {
        headers,
        signal,
        rejectUnauthorized: verifyPeer,
        agent: false,
        ...(family && { family: family === 'inet6' ? 6 : 4 }),
      } as const;
      const failed = (error: Error) =>
        reject(new Error(`REST API call ${urlText} failed (${error.message})`));
      get(url, options, (response) => {
        if (response.statusCode === 200) {
          const body = collected(response);
          response.once('end', () => resolve(body())).once('error', failed);
          return;
        }
        response.resume();
        reject(new Error(`REST API call ${urlText} returned ${response.statusCode}`));
      }).on('error', failed);
    });
  }

  #scriptPath(path: string): string {
    return path.startsWith('/') ? normalize(path) : join(this.#folder, path);
  }
}

/** Reads the whole stream; the result returns the first `answerBytesMax` bytes, as far as they have arrived. */
function collected(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (bytes < answerBytesMax) chunks.push(chunk);
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).subarray(0, answerBytesMax).toString();
}

/** Ends the process and all others of its group. */
function endGroup(leader: ChildProcess): void {
  try {
    if (leader.pid !== undefined) process.kill(-leader.pid, 'SIGKILL');
  } catch {
    // The group has ended.
  }
  leader.stdout?.destroy();
  leader.stderr?.destroy();
}
