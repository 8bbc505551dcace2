// Random requests on random documents: the value to store is always well-formed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Datatype, Status } from '#wire/status.ts';
import {
  DocFlag,
  SubdocOpcode as Op,
  type OperationTraits,
  operationTraits,
  PathFlag,
} from '#wire/subdoc-opcodes.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { aSeed, type Random, randomBytes, randomJson } from '../../../test/support/random.ts';
import {
  aContext,
  aDocument,
  aDocumentWithXattrs,
  aLookupSpec,
  allFeatures,
  aMutationSpec,
  noDocument,
} from '../../../test/support/subdoc.ts';
import { isJson } from '../value/json.ts';
import { isXattrSection } from '../value/xattrs.ts';
import type { SubdocDocument } from './document.ts';
import { executeLookup, executeMutation, type MutationOutcome } from './execute.ts';
import { decodeMultiLookup, decodeMultiMutation } from './specs.ts';

const decoding = { features: allFeatures, hasCas: false };
const paths = [
  'a',
  'b',
  'a.b',
  'a[0]',
  'a[-1]',
  '[0]',
  '',
  'x',
  '_s',
  'x.b',
  'x[0]',
  '`a.b`.c',
  'a.b.c.d',
  'q\\"',
  'a..b',
];
paths.push('$document', '$document.CAS', '$XTOC', '_s.n', 'x.n', 'n');
const macros = ['Mutation.CAS', 'Mutation.value_crc32c', '$document.seqno'].map((name) => `"\${${name}}"`);
const lookups = Object.values(Op).filter((opcode) => operationTraits(opcode)?.mutates === false);
const mutations = Object.values(Op).filter((opcode) => operationTraits(opcode)?.mutates === true);

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)] as T;
}

/** Random bytes may be JSON ("5"), and a node never stores JSON as binary. */
function aBinaryDocument(value: Buffer): SubdocDocument {
  return aDocument({ datatype: isJson(value, 0, value.length) ? Datatype.json : 0, value });
}

function randomDocument(random: Random): SubdocDocument {
  const json = () => JSON.stringify(randomJson(random, 2));
  switch (random(6)) {
    case 0:
      return noDocument;
    case 1:
      return aBinaryDocument(randomBytes(random, random(20)));
    case 2:
      return aDocumentWithXattrs({ _s: json(), x: json() }, '', { isDeleted: true });
    case 3:
      return aDocument({ value: Buffer.from(json()) });
    default:
      return aDocumentWithXattrs(
        { x: json(), _s: json() },
        JSON.stringify({ a: randomJson(random, 2), b: [1] }),
      );
  }
}

function randomValue(random: Random): string {
  if (random(8) === 0) return pick(random, ['', 'x', '1,2', ' ', '1,"k":2', '\0']);
  if (random(6) === 0) return pick(random, macros);
  return random(3) === 0 ? String(random(9) + 1) : JSON.stringify(randomJson(random, 2));
}

/** Mostly valid requests: xattr operations first, flags that the operation allows. */
function randomSpecs(random: Random, mutates: boolean): Buffer {
  const specs: { xattr: boolean; bytes: Buffer }[] = [];
  for (let count = random(4) + 1; count > 0; count--) {
    const opcode = pick(random, mutates ? mutations : lookups);
    const traits = operationTraits(opcode) as OperationTraits;
    let flags = traits.flags & random(256);
    if ((flags & PathFlag.xattr) === 0) flags &= PathFlag.mkdirP;
    const path = traits.wholeDoc ? '' : pick(random, paths);
    const value = traits.takesValue ? randomValue(random) : '';
    const bytes = mutates ? aMutationSpec(opcode, path, value, flags) : aLookupSpec(opcode, path, flags);
    specs.push({ xattr: (flags & PathFlag.xattr) !== 0, bytes });
  }
  specs.sort((a, b) => Number(b.xattr) - Number(a.xattr));
  return Buffer.concat(specs.map(({ bytes }) => bytes));
}

function isWellFormed({ value, datatype, isDeleted }: MutationOutcome): boolean {
  const hasXattrs = (datatype & Datatype.xattr) !== 0;
  if (hasXattrs && !isXattrSection(value, 0, value.length)) return false;
  const body = hasXattrs ? bodyStart(value, 0, value.length) : 0;
  if (isDeleted && body !== value.length) return false;
  return isDeleted || isJson(value, body, value.length) === ((datatype & Datatype.json) !== 0);
}

test('a mutation returns a well-formed value or is refused', (t) => {
  const random = aSeed(t);
  const docFlags = [0, 0, 0, DocFlag.mkdoc, DocFlag.add, DocFlag.accessDeleted];
  docFlags.push(DocFlag.accessDeleted | DocFlag.revive, DocFlag.createAsDeleted | DocFlag.mkdoc);
  let stored = 0;
  for (let round = 0; round < 20_000; round++) {
    const specs = randomSpecs(random, true);
    const request = decodeMultiMutation(Buffer.from([pick(random, docFlags)]), specs, decoding);
    if (typeof request === 'number') continue;
    const doc = randomDocument(random);
    const before = Buffer.from(doc.value);
    const outcome = executeMutation(doc, request, aContext());
    assert.deepEqual(doc.value, before, 'the mutation changed the bytes of the stored value');
    if (outcome.status !== Status.success && outcome.status !== Status.subdocSuccessDeleted) continue;
    stored++;
    assert.ok(isWellFormed(outcome), `${specs.toString('latin1')} on ${before.toString('latin1')}`);
  }
  assert.ok(stored > 500, `only ${stored} stored`);
});

test('a lookup returns a result for every operation, which is JSON for a path', (t) => {
  const random = aSeed(t);
  let found = 0;
  for (let round = 0; round < 20_000; round++) {
    const flags = pick(random, [0, DocFlag.accessDeleted]);
    const request = decodeMultiLookup(Buffer.from([flags]), randomSpecs(random, false), decoding);
    if (typeof request === 'number') continue;
    const { status, results } = executeLookup(randomDocument(random), request, aContext());
    if (status === Status.keyNotFound) continue;
    assert.equal(results.length, request.specs.length);
    for (const [i, { status, value }] of results.entries()) {
      const spec = request.specs[i];
      if (status !== Status.success || spec?.opcode !== Op.get || spec.flags & PathFlag.binary) continue;
      found++;
      assert.ok(isJson(value, 0, value.length));
    }
  }
  assert.ok(found > 500, `only ${found} found`);
});
