import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '../../test/support/node-process.ts';
import { CompanionNodes } from './companion-nodes.ts';
import type { ReadyFile } from './ready.ts';
import type { UpOptions } from './up-options.ts';

/** Ends each process of the node as soon as it has reported that it is ready. */
const endsEarly = "if (process.send) process.send('ready', () => process.exit(3));";

it('tries again when a node that ended cannot be started', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-companions-'));
  const preloaded = join(folder, 'ends-early.cjs');
  writeFileSync(preloaded, endsEarly);
  const { execPath } = process;
  const { NODE_OPTIONS } = process.env;
  process.env['NODE_OPTIONS'] = `--require ${preloaded}`;
  let shown = '';
  t.mock.method(process.stderr, 'write', (text: string) => {
    shown += text;
    return true;
  });
  const nodes = new CompanionNodes({ nodes: 2, 'data-dir': folder } as UpOptions);
  t.after(async () => {
    process.execPath = execPath;
    process.env['NODE_OPTIONS'] = NODE_OPTIONS ?? '';
    await nodes.stop();
    rmSync(folder, { recursive: true });
  });
  await nodes.start({ node: { rest: 'http://127.0.0.1:1' } } as ReadyFile);
  process.execPath = join(folder, 'missing');
  await eventually(() =>
    assert.match(shown, /^divan: node 2 ended with 3 and is started again\n.*did not start/),
  );
  process.execPath = execPath;
  await eventually(() =>
    assert.match(
      shown,
      /\ndivan: node 2 did not start \(spawn .* ENOENT\) and is started again\n.*ended with 3/,
    ),
  );
});
