// Runs the certificate process, once for each request.
import { spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { codeFile } from '#ports/code-place.ts';
import type { Issued, IssueRequest } from '../issue.ts';

const timeoutMs = 30_000;

export async function issueInProcess(request: IssueRequest): Promise<Issued> {
  const module = codeFile('cluster/certificates/hosts/issue-process');
  const cache = getCompileCacheDir();
  const child = spawn(process.execPath, [fileURLToPath(module)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    // Node names the folder for its version below the given one.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.on('error', () => {}); // the exit code is reported instead
  child.stdin.end(JSON.stringify(request));
  const [code, answer, errorOutput] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  if (code === 0) return JSON.parse(answer) as Issued;
  throw new Error(
    `cannot generate certificates: ${errorOutput.trim() || `the certificate process ended with ${code}`}`,
  );
}
