// The function of the guide for other languages: Python starts a node, uses it and ends it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { launcher } from '../support/node-process.ts';

const guide = readFileSync(new URL('../../docs/guides/other-languages.md', import.meta.url), 'utf8');

test('the Python function of the guide starts a node that answers, and ends it with the block', async () => {
  const [, code = ''] = /```python\n([\s\S]*?)```/.exec(guide) ?? [];
  const scratch = mkdtempSync(join(tmpdir(), 'divan-guide-'));
  try {
    const program = join(scratch, 'divan');
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`);
    chmodSync(program, 0o755);
    const use = `
import urllib.request
with divan_node(${JSON.stringify(program)}, "--bucket", "test", timeout=300) as ready:
    assert ready["username"] == "Administrator"
    print(urllib.request.urlopen(ready["node"]["rest"] + "/pools/default/certificate").status, ready["pid"])
try:
    os.kill(ready["pid"], 0)
    print("still running")
except ProcessLookupError:
    print("ended")
`;
    const file = join(scratch, 'use.py');
    writeFileSync(file, code + use);
    const { stdout } = await promisify(execFile)('python3', [file], { encoding: 'utf8' });
    assert.match(stdout, /^200 \d+$/m);
    assert.match(stdout, /^ended$/m);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
});
