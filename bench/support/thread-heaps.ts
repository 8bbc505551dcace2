// The V8 heap of each thread of a node, from the report that Node writes on a signal. The option that makes Node
// write it costs some MB, so resident memory is measured elsewhere. The report lacks threads that other threads started.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, NodeProcess } from '../../test/support/node-process.ts';

interface Report {
  header: { threadId: number };
  javascriptHeap: { usedMemory: number; heapSpaces: Record<string, { committedMemory: number }> };
  workers: Report[];
}

export async function threadHeaps(args: string[], idleMs: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-report-'));
  try {
    const environment = { NODE_OPTIONS: `--report-on-signal --report-directory=${folder}` };
    await using node = await NodeProcess.start({ args, environment });
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    process.kill(node.pid, 'SIGUSR2');
    const main = await eventually(
      () => JSON.parse(readFileSync(join(folder, readdirSync(folder)[0] as string), 'utf8')) as Report,
    );
    return [
      `main ${sizes(main)}`,
      ...main.workers.map((worker) => `thread ${worker.header.threadId} ${sizes(worker)}`),
    ].join(', ');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function sizes({ javascriptHeap: { usedMemory, heapSpaces } }: Report): string {
  const committed = Object.values(heapSpaces).reduce((sum, space) => sum + space.committedMemory, 0);
  return `${inMb(usedMemory)} of ${inMb(committed)} MB`;
}

const inMb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
