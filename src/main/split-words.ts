// Words of a command line that are not options: `divan backup FOLDER --full`.
import { type OptionSpecs, type OptionValues, parseOptions } from './options.ts';

/** Splits the words that are neither options nor their values from the options. */
export function splitWords<const S extends OptionSpecs>(
  args: readonly string[],
  specs: S,
): { words: string[]; options: OptionValues<S> } {
  const words: string[] = [];
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (!/^--[a-z]/.test(arg)) {
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
