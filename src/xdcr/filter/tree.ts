// What a filter expression is made of, with all constants checked.
import type { LargeInteger } from './large-integer.ts';
import type { TextPattern } from './text-pattern.ts';

/** A field of the document, or a part of its metadata. */
export interface Path {
  readonly kind: 'path';
  readonly root: 'body' | 'id' | 'xattrs' | 'expiration';
  readonly steps: readonly (string | number)[];
}

export type ArithmeticSign = '+' | '-' | '*' | '/' | '%';
export type ComparisonSign = '=' | '!=' | '<' | '<=' | '>' | '>=';

export type Operand =
  | Path
  /** `isFloat`: written with a point or an exponent, so that divisions by it have fractions. */
  | {
      readonly kind: 'literal';
      readonly value: string | number | boolean | bigint | LargeInteger;
      readonly isFloat: boolean;
    }
  | {
      readonly kind: 'arithmetic';
      readonly sign: ArithmeticSign;
      readonly left: Operand;
      readonly right: Operand;
    }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Operand[] };

export type Condition =
  | { readonly kind: 'constant'; readonly value: boolean }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Condition[] }
  | { readonly kind: 'not'; readonly part: Condition }
  | { readonly kind: 'exists' | 'isNull'; readonly path: Path }
  | { readonly kind: 'regexp'; readonly text: Operand; readonly pattern: TextPattern }
  | {
      readonly kind: 'compare';
      readonly sign: ComparisonSign;
      readonly left: Operand;
      readonly right: Operand;
    };

export type FilterNode = Condition | Operand;
