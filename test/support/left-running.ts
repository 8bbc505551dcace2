// Processes that a failed test left running. They would keep the process of its file from ending, and so all of `npm test`: after the last
// test of the file they are killed.
import type { ChildProcess } from 'node:child_process';
import { after } from 'node:test';

const startedProcesses: ChildProcess[] = [];

/** Kills the process after the last test of this file, if the process still runs then. */
export function endAfterTests(child: ChildProcess): void {
  startedProcesses.push(child);
}

// Stress tests and benchmarks run outside of the test runner.
if (process.env['NODE_TEST_CONTEXT'] !== undefined)
  after(() => {
    for (const child of startedProcesses) child.kill('SIGKILL');
  });
