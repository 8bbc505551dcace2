// Splits a document's value into xattr section and body.
import { Datatype } from '#wire/status.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import type { SubdocDocument } from './document.ts';
import { emptyBytes } from './edit.ts';

export interface ValueParts {
  /** The xattr section, empty if there is none. */
  section: Buffer;
  body: Buffer;
  bodyIsJson: boolean;
}

export function partsOf(doc: SubdocDocument): ValueParts {
  const { value, datatype } = doc;
  const body = (datatype & Datatype.xattr) === 0 ? 0 : bodyStart(value, 0, value.length);
  return {
    section: body > 0 ? value.subarray(0, body) : emptyBytes,
    body: body > 0 ? value.subarray(body) : value,
    bodyIsJson: (datatype & Datatype.json) !== 0,
  };
}
