// Applies a filter expression to the new versions of documents.
import { type DocumentTest, type FilterSubject, matcherOf, pathsOf, UnfilterableError } from './evaluate.ts';
import { needsExactNumbers } from './exact-numbers.ts';
import { parseExactly } from './large-integer.ts';
import { parseFilter } from './parser.ts';

export interface FilteredDocument {
  readonly key: string;
  readonly expiration: number;
  readonly isJson: boolean;
  /** The JSON text of an extended attribute. */
  readonly xattr: (name: string) => Buffer | null;
  readonly body: () => Buffer;
}

/** `unmatched`: the document does not match. `unfilterable`: the expression needs fields and the document is JSON but no object, or a text in it is too long or too deeply nested to be compared. */
export type FilterResult = 'matches' | 'unmatched' | 'unfilterable';

export class DocumentFilter {
  private readonly matcher: DocumentTest;
  private readonly needsBody: boolean;
  private readonly needsMetadata: boolean;
  private readonly parse: (text: string) => unknown;

  /** @throws FilterError */
  constructor(expression: string) {
    const tree = parseFilter(expression);
    const roots = pathsOf(tree).map(({ root }) => root);
    this.matcher = matcherOf(tree);
    this.parse = needsExactNumbers(tree) ? parseExactly : JSON.parse;
    this.needsBody = roots.includes('body');
    this.needsMetadata = roots.some((root) => root !== 'body');
  }

  /** Reads the extended attributes and the body, which may be compressed, only if the expression needs them. */
  test(document: FilteredDocument): FilterResult {
    // A document that is not JSON is sent if the expression reads nothing but fields.
    if (this.needsBody && !document.isJson && !this.needsMetadata) return 'matches';
    try {
      const body = this.needsBody && document.isJson ? objectOf(document.body(), this.parse) : undefined;
      return this.matcher(subjectOf(document, body, this.parse)) ? 'matches' : 'unmatched';
    } catch (error) {
      // Values of extreme nesting are compared as texts, for which the stack may be too small.
      if (error instanceof UnfilterableError || error instanceof RangeError) return 'unfilterable';
      throw error;
    }
  }
}

type Parse = (text: string) => unknown;

function subjectOf(document: FilteredDocument, body: unknown, parse: Parse): FilterSubject {
  return {
    key: () => document.key,
    expiration: () => document.expiration,
    xattr: (name) => {
      const text = document.xattr(name);
      return text === null ? undefined : parsed(text, parse, `the attribute ${name}`);
    },
    body: () => body,
  };
}

function objectOf(text: Buffer, parse: Parse): unknown {
  const value = parsed(text, parse, 'the document');
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UnfilterableError('the document is not an object');
  return value;
}

function parsed(text: Buffer, parse: Parse, what: string): unknown {
  try {
    return parse(text.toString('utf8'));
  } catch {
    throw new UnfilterableError(`${what} is not JSON`);
  }
}
