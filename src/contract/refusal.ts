// Refusals of the node's REST API: one entry per reason, with its status, the form of its body and its text. The entries are
// listed in files named `*.refusals.ts`; services and handlers throw them, and the reference page is made from them.
import { AppError, type ErrorBody } from './errors.ts';

interface Declared {
  /** Default 400. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** True if the text is part of the published API, where clients compare it; other texts are Divan's. */
  readonly published?: true;
  /** The condition of the refusal, if the text does not say it. */
  readonly when?: string;
}

/** One reason. `{name}` in the text stands for a parameter of the call. */
export interface TextDeclaration extends Declared {
  /** The form of the body; `fields`: an object of fields in a member `errors`, `bare`: that object alone. */
  readonly as: 'text' | 'json' | 'list' | 'errorList' | 'fields' | 'bare';
  readonly text: string;
  /** The field that the text is about, for `fields` and `bare`; `_`, the request as a whole, by default. */
  readonly field?: string;
}

/** `{"error":"not_found","reason":"text"}`. */
export interface CodeDeclaration extends Declared {
  readonly as: 'code';
  readonly error: string;
  readonly text: string;
}

/** All problems of a request, which the caller passes: a text for each field, or a list of texts (with `as: 'text'`, one per line). */
export interface CollectedDeclaration extends Declared {
  readonly as: 'fields' | 'bucketFields' | 'bare' | 'list' | 'errorList' | 'text' | 'empty';
  readonly text?: undefined;
}

/** Any other JSON value. */
export interface ValueDeclaration extends Declared {
  // biome-ignore lint/suspicious/noExplicitAny: each declaration has parameters of its own.
  readonly value: (...parameters: any[]) => unknown;
  /** The value as the reference page shows it. */
  readonly sample: string;
}

export type RefusalDeclaration = TextDeclaration | CodeDeclaration | CollectedDeclaration | ValueDeclaration;

type NamesIn<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

type Parameters<D> = D extends { value: (...parameters: infer P) => unknown }
  ? P
  : D extends { text: infer Text extends string }
    ? [NamesIn<Text>] extends [never]
      ? []
      : [parameters: Readonly<Record<NamesIn<Text>, string | number>>]
    : D extends { as: 'empty' }
      ? []
      : D extends { as: 'bucketFields' }
        ? [fields: Readonly<Record<string, string>>, summaries: unknown]
        : D extends { as: 'fields' | 'bare' }
          ? [fields: Readonly<Record<string, string>>]
          : [texts: readonly string[]];

/** Makes the error to throw. */
export type Refusal<D> = ((...parameters: Parameters<D>) => AppError) & {
  /** `buckets.flushDisabled`. */
  readonly id: string;
  readonly declaration: D;
};

/**
 * Declares the refusals of an area. Each becomes a function of the parameters that its text names.
 *
 * @example
 * export const collectionRefusals = defineRefusals('collections', {
 *   scopeNotFound: { status: 404, as: 'fields', text: 'Scope with name "{scope}" is not found' },
 * });
 * throw collectionRefusals.scopeNotFound({ scope: 'inventory' });
 */
export function defineRefusals<const Entries extends Readonly<Record<string, RefusalDeclaration>>>(
  area: string,
  entries: Entries,
): { readonly [Name in keyof Entries]: Refusal<Entries[Name]> } {
  const refusals = Object.entries(entries).map(([name, declaration]) => {
    const refusal = (...parameters: readonly unknown[]) => errorOf(declaration, parameters);
    return [name, Object.assign(refusal, { id: `${area}.${name}`, declaration })];
  });
  return Object.fromEntries(refusals);
}

function errorOf(declaration: RefusalDeclaration, parameters: readonly unknown[]): AppError {
  return new AppError(declaration.status ?? 400, bodyOf(declaration, parameters), declaration.headers);
}

function bodyOf(declaration: RefusalDeclaration, parameters: readonly unknown[]): ErrorBody {
  if ('value' in declaration) return { kind: 'json', value: declaration.value(...parameters) };
  const { text } = declaration;
  if (text === undefined) return collected(declaration, parameters);
  const filled = fill(text, (parameters[0] ?? {}) as Readonly<Record<string, string | number>>);
  switch (declaration.as) {
    case 'code':
      return { kind: 'json', value: { error: declaration.error, reason: filled } };
    case 'fields':
    case 'bare':
      return { kind: declaration.as, fields: { [declaration.field ?? '_']: filled } };
    case 'list':
    case 'errorList':
      return { kind: declaration.as, texts: [filled] };
    case 'text':
      return { kind: 'text', text: filled };
    case 'json':
      return { kind: 'json', value: filled };
  }
}

function collected({ as }: CollectedDeclaration, [problems, summaries]: readonly unknown[]): ErrorBody {
  switch (as) {
    case 'empty':
      return { kind: 'empty' };
    case 'bucketFields':
      return { kind: as, fields: problems as Record<string, string>, summaries };
    case 'fields':
    case 'bare':
      return { kind: as, fields: problems as Record<string, string> };
    case 'list':
    case 'errorList':
      return { kind: as, texts: problems as readonly string[] };
    case 'text':
      return { kind: 'text', text: (problems as readonly string[]).map((line) => `${line}\n`).join('') };
  }
}

/** A parameter's own braces stay as they are. */
const fill = (text: string, parameters: Readonly<Record<string, string | number>>): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(parameters[name]));
