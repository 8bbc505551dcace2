// Command-line options: one declaration each gives the parser, the environment variable, the help text and the reference
// page. Parsed once per process; nothing else reads the arguments of the process.
import { nearest } from '#base/nearest.ts';

export class UsageError extends Error {
  override name = 'UsageError';
}

/** Parses the text of an option. */
export interface OptionKind<T> {
  /** Placeholder in the help: `PORT`. */
  readonly placeholder: string;
  /** Throws a UsageError that says what would be right (without the option's name). */
  parse(text: string): T;
  /** The value of an option given without one; absent: a value is required. */
  readonly bare?: string;
  /** The text of a value in the help, if it differs from `String(value)`. */
  show?(value: T): string;
}

export interface OptionSpec<T = unknown> {
  readonly kind: OptionKind<T>;
  readonly default?: T;
  /** May be given several times; the value is an array. */
  readonly repeat?: boolean;
  /** Must be given. */
  readonly required?: true;
  readonly doc: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

type ValueOf<S extends OptionSpec> =
  S extends OptionSpec<infer T>
    ? S['repeat'] extends true
      ? readonly T[]
      : S extends { readonly default: unknown } | { readonly required: true }
        ? T
        : T | undefined
    : never;
export type OptionValues<S extends OptionSpecs> = { readonly [K in keyof S]: ValueOf<S[K]> };

const wrong = (text: string, expected: string): UsageError => new UsageError(`"${text}" is not ${expected}`);

export const kinds = {
  text: { placeholder: 'TEXT', parse: (text: string) => text },
  flag: {
    placeholder: '',
    bare: 'true',
    parse(text: string): boolean {
      if (text === 'true' || text === 'false') return text === 'true';
      throw wrong(text, 'true or false');
    },
  },
  path: { placeholder: 'PATH', parse: nonEmpty('a path') },
  host: { placeholder: 'HOST', parse: nonEmpty('a host name or address') },
  port: {
    placeholder: 'PORT',
    parse: (text: string) => integer(text, 0, 65535, 'a port (0 to 65535, 0 = any free one)'),
  },
  count: {
    placeholder: 'N',
    parse: (text: string) => integer(text, 1, 1_000_000, 'a number from 1 to 1000000'),
  },
  megabytes: {
    placeholder: 'MB',
    parse: (text: string) => integer(text, 1, 2 ** 31, 'a number of megabytes above 0'),
  },
} as const satisfies Record<string, OptionKind<unknown>>;

export const choice = <const T extends string>(...values: readonly T[]): OptionKind<T> => ({
  placeholder: values.join('|'),
  parse(text) {
    const found = values.find((value) => value === text);
    if (found === undefined) throw wrong(text, `one of ${values.join(', ')}`);
    return found;
  },
});

function nonEmpty(expected: string): (text: string) => string {
  return (text) => {
    if (text === '') throw wrong(text, expected);
    return text;
  };
}

function integer(text: string, min: number, max: number, expected: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw wrong(text, expected);
  return value;
}

export const environmentName = (option: string): string =>
  `DIVAN_${option.replaceAll('-', '_').toUpperCase()}`;

/** An option of the command line overrides its environment variable, which overrides the default. */
export function parseOptions<const S extends OptionSpecs>(
  specs: S,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): OptionValues<S> {
  const given = new Map<string, unknown[]>();
  for (let i = 0; i < args.length; i++) {
    const { name, inline } = splitOption(args[i] as string, specs);
    const spec = specs[name] as OptionSpec;
    const text = inline ?? spec.kind.bare ?? args[++i];
    if (text === undefined || (inline === undefined && isOption(text, specs)))
      throw new UsageError(`--${name} needs a value: --${name} ${spec.kind.placeholder}`);
    const values = given.get(name) ?? [];
    if (values.length > 0 && !spec.repeat) throw new UsageError(`--${name} is given twice; give it once`);
    given.set(name, [...values, parseValue(`--${name}`, spec, text)]);
  }
  const result: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) {
    const values = given.get(name) ?? fromEnvironment(name, spec, environment);
    if (spec.required && values.length === 0)
      throw new UsageError(`--${name} is missing: give --${name} ${spec.kind.placeholder}`);
    result[name] = spec.repeat ? values : (values[0] ?? spec.default);
  }
  return Object.freeze(result) as OptionValues<S>;
}

function splitOption(arg: string, specs: OptionSpecs): { name: string; inline: string | undefined } {
  const match = /^--(\w[\w-]*)(?:=(.*))?$/s.exec(arg);
  if (match === null) throw noOption(arg);
  const name = match[1] as string;
  if (Object.hasOwn(specs, name)) return { name, inline: match[2] };
  const near = nearest(name.toLowerCase(), Object.keys(specs));
  throw new UsageError(`unknown option --${name}${near === null ? '' : `; did you mean --${near}?`}`);
}

export const noOption = (word: string): UsageError =>
  new UsageError(`"${word}" is not an option; options look like --name VALUE`);

/** Detects a forgotten value: the next argument is an option. A value that looks like one must be given as `--name=VALUE`. */
const isOption = (text: string, specs: OptionSpecs): boolean =>
  text.startsWith('--') && Object.hasOwn(specs, text.slice(2));

function fromEnvironment(
  name: string,
  spec: OptionSpec,
  environment: Readonly<Record<string, string | undefined>>,
): unknown[] {
  const variable = environmentName(name);
  const text = environment[variable];
  if (text === undefined || text === '') return [];
  if (spec.repeat) return text.split(',').map((part) => parseValue(variable, spec, part.trim()));
  // A password may begin or end with blanks; a file that was put into the variable ends with a line end.
  const value = spec.kind === kinds.text ? text.replace(/\r?\n$/, '') : text.trim();
  return [parseValue(variable, spec, value)];
}

function parseValue(label: string, spec: OptionSpec, text: string): unknown {
  try {
    return spec.kind.parse(text);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${label}: ${error.message}`);
    throw error;
  }
}

/** Empty without a default, and for flags. */
export function defaultText({ kind, default: value }: OptionSpec): string {
  if (value === undefined || kind.bare !== undefined) return '';
  return kind.show?.(value) ?? String(value);
}

/** Help lines, one an option. */
export function describeOptions(specs: OptionSpecs): string {
  const rows = Object.entries(specs).map(([name, spec]) => {
    const fallback = defaultText(spec);
    const isOnByDefault = spec.kind.bare !== undefined && spec.default === true;
    const notes = [
      ...(spec.required ? ['required'] : []),
      ...(spec.repeat ? ['repeatable'] : []),
      ...(fallback === '' ? [] : [`default ${fallback}`]),
      ...(isOnByDefault ? [`default; --${name}=false switches it off`] : []),
    ];
    return [
      `--${name} ${spec.kind.placeholder}`,
      `${spec.doc}${notes.map((note) => ` (${note})`).join('')}`,
    ] as const;
  });
  const width = Math.max(...rows.map(([flag]) => flag.length));
  return rows
    .map(([flag, doc]) =>
      flag.length > 44
        ? `  ${flag}\n  ${''.padEnd(Math.min(width, 44))}  ${doc}`
        : `  ${flag.padEnd(Math.min(width, 44))}  ${doc}`,
    )
    .join('\n');
}
