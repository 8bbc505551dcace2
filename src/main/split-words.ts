// Words of a command line that are not options: `divan backup FOLDER --full`.
import { noOption, type OptionSpecs, type OptionValues, parseOptions, UsageError } from './options.ts';

/** Splits the words that are neither options nor their values from the options. */
export function splitWords<const S extends OptionSpecs>(
  args: readonly string[],
  specs: S,
): { words: string[]; options: OptionValues<S> } {
  const words: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (!/^--[a-z]/i.test(arg)) {
      words.push(arg);
      continue;
    }
    rest.push(arg);
    const spec = Object.hasOwn(specs, arg.slice(2)) ? specs[arg.slice(2)] : undefined;
    const needsValue = spec !== undefined && spec.kind.bare === undefined;
    if (needsValue && args[i + 1] !== undefined) rest.push(args[++i] as string);
  }
  return { words, options: parseOptions(specs, rest, process.env) };
}

/** Compares the words with those of the usage, such as `divan doc set BUCKET KEY [VALUE]`. @throws UsageError */
export function checkWords(usage: string, words: readonly string[]): void {
  const expected = usage.split(' ').filter((word) => /^[[A-Z]/.test(word));
  for (const [index, name] of expected.entries()) {
    const word = words[index];
    if (name.startsWith('[') || (word !== undefined && word !== '')) continue;
    throw new UsageError(`${name} is ${word === '' ? 'empty' : 'missing'}; the form is ${usage}`);
  }
  const further = words[expected.length];
  if (further === undefined) return;
  if (/^-[^-]/.test(further)) throw noOption(further);
  throw new UsageError(`"${further}" is one word too many; the form is ${usage}`);
}
