// The words that are possible at each place of the command line, for the completions of shells: made from the declarations of the
// commands.
import type { OptionSpec, OptionSpecs } from '../options.ts';

/** A command or a verb; its place is its words: `bucket create`. */
export interface CompletedCommand {
  readonly place: string;
  readonly doc: string;
  readonly options: OptionSpecs;
}

export interface CompletedOption {
  readonly name: string;
  readonly doc: string;
  /** The values to choose from, the path of a file, or any text; null: the option has no value. */
  readonly value: readonly string[] | 'file' | 'text' | null;
}

export interface CompletionPlace {
  /** The words before it; empty: after `divan` itself. */
  readonly place: string;
  readonly next: readonly { readonly word: string; readonly doc: string }[];
  readonly options: readonly CompletedOption[];
}

export function placesOf(commands: readonly CompletedCommand[]): CompletionPlace[] {
  const places = new Map<string, { doc: string; options: OptionSpecs }>([['', { doc: '', options: {} }]]);
  for (const { place, doc, options } of commands) {
    const words = place.split(' ');
    for (let length = 1; length < words.length; length++) {
      const above = words.slice(0, length).join(' ');
      if (!places.has(above)) places.set(above, { doc: '', options: {} });
    }
    places.set(place, { doc, options });
  }
  return [...places].map(([place, { options }]) => ({
    place,
    next: [...places]
      .filter(([other]) => other !== '' && other.split(' ').slice(0, -1).join(' ') === place)
      .map(([other, { doc }]) => ({ word: other.split(' ').at(-1) as string, doc })),
    options: Object.entries(options).map(optionOf),
  }));
}

const optionOf = ([name, spec]: [string, OptionSpec]): CompletedOption => ({
  name,
  doc: spec.doc,
  value: completedValue(spec),
});

function completedValue({ kind: { placeholder, bare } }: OptionSpec): CompletedOption['value'] {
  if (bare !== undefined) return null;
  if (placeholder === 'PATH') return 'file';
  return /^[\w-]+(\|[\w-]+)+$/.test(placeholder) ? placeholder.split('|') : 'text';
}

/** How a command is recognized word by word: `bucket/create`. */
export const stepsOf = (places: readonly CompletionPlace[]): string[] =>
  places.flatMap(({ place, next }) => next.map(({ word }) => `${place}/${word}`));
