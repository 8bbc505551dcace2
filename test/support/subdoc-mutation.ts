// Runs multi mutations in tests, from the wire form to the outcome.
import assert from 'node:assert/strict';
import { Datatype } from '#wire/status.ts';
import { bodyStart, XattrWalk } from '#wire/xattr-section.ts';
import type { SubdocContext, SubdocDocument } from '../../src/kv/subdoc/document.ts';
import { executeMutation, type MutationOutcome } from '../../src/kv/subdoc/execute.ts';
import { decodeMultiMutation } from '../../src/kv/subdoc/specs.ts';
import { aContext, allFeatures, aMutationSpec } from './subdoc.ts';

export type MutationSpec = [opcode: number, path: string, value: string | Buffer, flags?: number];

export interface MutationOptions {
  docFlags?: number;
  userFlags?: number;
  single?: boolean;
  context?: SubdocContext;
}

export function aMutation(
  doc: SubdocDocument,
  specs: readonly MutationSpec[],
  options: MutationOptions = {},
): MutationOutcome {
  const value = Buffer.concat(specs.map((spec) => aMutationSpec(...spec)));
  const features = { features: allFeatures, hasCas: false };
  const request = decodeMultiMutation(Buffer.from([options.docFlags ?? 0]), value, features);
  assert.ok(typeof request !== 'number', `the request was refused with status ${request}`);
  request.userFlags = options.userFlags ?? null;
  request.hasSinglePath = options.single ?? false;
  return executeMutation(doc, request, options.context ?? aContext());
}

/** Status and the parts of the new value as text. */
export function mutationText(outcome: MutationOutcome): {
  status: string;
  xattrs: Record<string, string>;
  body: string;
} {
  const { value, datatype } = outcome;
  const start = (datatype & Datatype.xattr) === 0 ? 0 : bodyStart(value, 0, value.length);
  const xattrs: Record<string, string> = {};
  const walk = new XattrWalk();
  walk.begin(value, 0, start);
  while (start > 0 && walk.next()) {
    xattrs[value.toString('utf8', walk.keyStart, walk.keyEnd)] = value.toString(
      'utf8',
      walk.valueStart,
      walk.valueEnd,
    );
  }
  return { status: outcome.status.toString(16), xattrs, body: value.toString('utf8', start) };
}
