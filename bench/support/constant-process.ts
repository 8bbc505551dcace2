// A process that runs `constant-server.ts`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { endAfterTests } from '../../test/support/left-running.ts';

const program = fileURLToPath(new URL('./constant-server.ts', import.meta.url));

export async function startConstantServer() {
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  endAfterTests(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    url: line.toString().trim(),
    pid: child.pid as number,
    async [Symbol.asyncDispose](): Promise<void> {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
