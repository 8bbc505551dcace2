// Runs the operator's commands on a cloud's data folder.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { launcher } from './node-process.ts';

export function operator(cloud: { dataDir: string }, ...words: string[]) {
  const args = [launcher, 'cloud', ...words, '--data-dir', cloud.dataDir];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { stdout, stderr, status };
}

/** Creates a token by the operator's command. */
export function createToken(cloud: { dataDir: string }, ...words: string[]) {
  const { stdout, stderr, status } = operator(cloud, 'token', 'create', '--json', ...words);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as { id: string; token: string; accessKey: string; secretKey: string };
}
