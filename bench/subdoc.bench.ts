// Sub-document requests on documents in memory, from the wire form to the outcome, without sockets and storage.
import type { SubdocContext, SubdocDocument } from '../src/kv/subdoc/document.ts';
import { executeLookup, executeMutation } from '../src/kv/subdoc/execute.ts';
import { decodeMultiLookup, decodeMultiMutation } from '../src/kv/subdoc/specs.ts';
import { SubdocOpcode } from '../src/wire/subdoc-opcodes.ts';
import { aContext, aDocument, aLookupSpec, allFeatures, aMutationSpec } from '../test/support/subdoc.ts';

const decoding = { features: allFeatures, hasCas: false };
const noExtras = Buffer.alloc(0);

function aPerson(friends: number): SubdocDocument {
  const friend = (i: number) => ({ id: i, name: `friend number ${i}`, since: 2000 + i });
  const list = Array.from({ length: friends }, (_, i) => friend(i));
  const person = { name: 'someone', friends: list, address: { city: 'Lisbon', zip: '1000' }, visits: 5 };
  return aDocument({ value: Buffer.from(JSON.stringify(person)) });
}

function lookUp(doc: SubdocDocument, specs: Buffer, context: SubdocContext): number {
  const request = decodeMultiLookup(noExtras, specs, decoding);
  return typeof request === 'number' ? request : executeLookup(doc, request, context).status;
}

function change(doc: SubdocDocument, specs: Buffer, context: SubdocContext): number {
  const request = decodeMultiMutation(noExtras, specs, decoding);
  return typeof request === 'number' ? request : executeMutation(doc, request, context).status;
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const context = aContext();
  const city = aLookupSpec(SubdocOpcode.get, 'address.city');
  const count = aMutationSpec(SubdocOpcode.counter, 'visits', '1');
  for (const friends of [4, 100]) {
    const doc = aPerson(friends);
    const report = (what: string, step: () => number) => {
      const rounds = smoke ? 1000 : 400_000;
      for (let i = 0; i < rounds / 10; i++) step();
      const start = process.hrtime.bigint();
      for (let i = 0; i < rounds; i++) if (step() !== 0) throw new Error('refused');
      const seconds = Number(process.hrtime.bigint() - start) / 1e9;
      console.log(`${doc.value.length} B, ${what}: ${Math.round(rounds / seconds / 1000)} k/s`);
    };
    report('get of one path', () => lookUp(doc, city, context));
    report('counter', () => change(doc, count, context));
    const parsed = () => JSON.parse(doc.value.toString());
    report('for comparison, parse alone', () => (parsed().visits === 5 ? 0 : 1));
  }
}
