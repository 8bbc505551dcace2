// Files to which a node appends lines (events, audit log, log), on a full disk.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FolderAudit } from '#cluster/audit/audit-file.adapter.ts';
import { FolderJournal } from '#cluster/events/journal.adapter.ts';
import { needs } from '../../test/support/needs.ts';
import { SmallDisk } from '../../test/support/small-disk.ts';
import { NodeLogFile } from './log-file.adapter.ts';

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

test('lines that are written after a full disk do not continue the line that was cut off', {
  skip: needs('mount'),
}, (t) => {
  const disk = new SmallDisk(t, '256k');
  const journal = new FolderJournal(disk.folder, 'events', { segmentBytes: 1 << 20, segments: 2 });
  const audit = new FolderAudit(() => Date.now());
  const log = new NodeLogFile(disk.folder);
  const writers: readonly (readonly [file: string, write: (line: string) => void])[] = [
    ['events.1.jsonl', (line) => journal.append(line)],
    ['audit.log', (line) => audit.append(disk.folder, line, { rotateSeconds: 900, rotateBytes: 0 })],
    ['node.log', (line) => log.write(`${line}\n`)],
  ];
  for (const [file, write] of writers) {
    write('first');
    disk.fill();
    const before = openDescriptors();
    // The last block of the file has room for the beginning of this line, which is cut off there.
    for (let at = 0; at < 10; at++) assert.throws(() => write('x'.repeat(8_000)), file);
    assert.ok(openDescriptors() <= before, `${file} leaves descriptors open`);
    disk.free();
    write('last');
    const lines = readFileSync(join(disk.folder, file), 'utf8').split('\n');
    assert.match(lines.at(-2) ?? '', /^last/, file);
    assert.equal(lines.at(-1), '', file);
  }
  journal.close();
  audit.close();
});
