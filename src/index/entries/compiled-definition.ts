// The compiled expressions of an index definition, which map a document to its rows.
import type { Value } from '#sqlpp/values/value.ts';
import type { KeyPart } from './key-parts.ts';

/** A document of a change stream; valid only during the call that gets it. */
export interface IndexedDocument {
  readonly id: string;
  /** The body without extended attributes. */
  readonly body: Uint8Array;
  readonly isJson: boolean;
  readonly cas: bigint;
  /** Seconds since 1970; 0: none. */
  readonly expiration: number;
  readonly flags: number;
  /** The JSON text of an extended attribute, if the document has it. */
  xattr(name: string): Uint8Array | undefined;
}

/** A key with one value per document; it has one part. */
export interface PlainKey {
  readonly kind: 'plain';
  readonly isDescending: boolean;
  readonly includesMissing: boolean;
  evaluate(document: IndexedDocument): Value;
}

/** An array key: one row per element. With FLATTEN_KEYS it has several parts. */
export interface ArrayKey {
  readonly kind: 'array';
  readonly isDistinct: boolean;
  readonly parts: readonly KeyPart[];
  /** The values of each element by part; a value that is not an array is the only element, MISSING gives 'missing'. */
  evaluate(document: IndexedDocument): readonly (readonly Value[])[] | 'missing';
}

export interface CompiledDefinition {
  readonly condition: ((document: IndexedDocument) => boolean) | null;
  /** Empty for a primary index. At most one is an array key. */
  readonly keys: readonly (PlainKey | ArrayKey)[];
}
