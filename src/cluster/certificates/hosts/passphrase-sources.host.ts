// Reads the passphrase of a private key from scripts and HTTP services.
import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { join, normalize, sep } from 'node:path';
import { text } from 'node:stream/consumers';
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
    const child = spawn(this.#scriptPath(path), args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      env: {},
    });
    const ended = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
      child.once('error', (error) => reject(new Error(`Script execution failed: ${error.message}.`)));
      child.once('close', (code, signal) => resolve(code ?? signal));
    });
    const [status, printed, errorOutput] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    if (status === 0) return printed.slice(0, answerBytesMax);
    throw new Error(`Script exited with status ${status}:\n${errorOutput.trim()}`);
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
          text(response).then((body) => resolve(body.slice(0, answerBytesMax)), failed);
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
