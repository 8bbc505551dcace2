// What decides about a document's rows: the expressions of a definition, compiled by the language.
import type { Value } from '#sqlpp/values/value.ts';

/** A document as the stream brings it, valid during the call. */
export interface IndexedDocument {
  readonly id: string;
  /** Without extended attributes. */
  readonly body: Uint8Array;
  readonly isJson: boolean;
  readonly cas: bigint;
  /** Seconds since 1970; 0: none. */
  readonly expiration: number;
  readonly flags: number;
  /** Of an extended attribute: JSON text, if there is one. */
  xattr(name: string): Uint8Array | undefined;
}

/** An expression that is one position of the key. */
export interface PlainKey {
  readonly kind: 'plain';
  readonly isDescending: boolean;
  readonly includesMissing: boolean;
  evaluate(document: IndexedDocument): Value;
}

/** An array key: a row for each element. With FLATTEN_KEYS it takes several positions. */
export interface ArrayKey {
  readonly kind: 'array';
  readonly isDistinct: boolean;
  readonly positions: readonly { readonly isDescending: boolean; readonly includesMissing: boolean }[];
  /** Values by position for each element; what is no array: its own value as the only one. */
  evaluate(document: IndexedDocument): readonly (readonly Value[])[] | 'missing';
}

export interface CompiledDefinition {
  readonly condition: ((document: IndexedDocument) => boolean) | null;
  /** None for a primary index. At most one is an array key. */
  readonly keys: readonly (PlainKey | ArrayKey)[];
}
