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

export interface ThreadHeap {
  /** `main`, or `thread` and its number. */
  readonly thread: string;
  readonly usedBytes: number;
  readonly heldBytes: number;
}

/** A folder for the reports of a node that is started with this environment. */
export class HeapReports implements Disposable {
  private readonly folder = mkdtempSync(join(tmpdir(), 'divan-report-'));
  readonly environment = { NODE_OPTIONS: `--report-on-signal --report-directory=${this.folder}` };

  async of(node: NodeProcess): Promise<ThreadHeap[]> {
    process.kill(node.pid, 'SIGUSR2');
    const { main, path } = await eventually(() => {
      const found = join(this.folder, readdirSync(this.folder)[0] as string);
      return { main: JSON.parse(readFileSync(found, 'utf8')) as Report, path: found };
    });
    rmSync(path);
    const workers = main.workers.map((worker) => heapOf(`thread ${worker.header.threadId}`, worker));
    return [heapOf('main', main), ...workers];
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

export async function threadHeaps(args: string[], idleMs: number): Promise<string> {
  using reports = new HeapReports();
  await using node = await NodeProcess.start({ args, environment: reports.environment });
  await new Promise((resolve) => setTimeout(resolve, idleMs));
  const heaps = await reports.of(node);
  return heaps
    .map(({ thread, usedBytes, heldBytes }) => `${thread} ${inMb(usedBytes)} of ${inMb(heldBytes)} MB`)
    .join(', ');
}

function heapOf(thread: string, { javascriptHeap: { usedMemory, heapSpaces } }: Report): ThreadHeap {
  const heldBytes = Object.values(heapSpaces).reduce((sum, space) => sum + space.committedMemory, 0);
  return { thread, usedBytes: usedMemory, heldBytes };
}

const inMb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
