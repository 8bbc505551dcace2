// The speed of the JSON check of stored values, compared with Node's functions.
import { isUtf8 } from 'node:buffer';
import { isJson } from '../src/kv/value/json.ts';

/** A JSON text: one object, or an array of `count` ones. */
function aDocument(count: number): Buffer {
  const entries = Array.from({ length: count }, (_, i) => ({
    id: i,
    name: `person number ${i}`,
    city: i % 3 === 0 ? 'Zürich' : 'Lisbon',
    tags: ['one', 'two', 'three'],
    score: i * 1.25,
    address: { street: 'a street with a longer name', number: i, valid: true, note: null },
  }));
  return Buffer.from(JSON.stringify(count === 1 ? entries[0] : entries));
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const bytesPerRun = smoke ? 1e6 : 2e8;
  for (const [name, document] of [
    ['one object', aDocument(1)],
    ['64 KiB', aDocument(350)],
    ['1 MiB', aDocument(5600)],
  ] as const) {
    const rounds = Math.ceil(bytesPerRun / document.length);
    const report = (what: string, check: () => boolean) => {
      for (let i = 0; i < rounds / 10; i++) check();
      const start = process.hrtime.bigint();
      for (let i = 0; i < rounds; i++) if (!check()) throw new Error('not JSON');
      const seconds = Number(process.hrtime.bigint() - start) / 1e9;
      console.log(
        `${name} (${document.length} B) ${what}: ${((rounds * document.length) / seconds / 1e6).toFixed(0)} MB/s`,
      );
    };
    report('isJson', () => isJson(document, 0, document.length));
    report('JSON.parse', () => JSON.parse(document.toString()) !== undefined);
    report('isUtf8', () => isUtf8(document));
  }
}
