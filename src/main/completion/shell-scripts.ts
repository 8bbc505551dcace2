// The completion scripts of bash, zsh and fish. All are complete in themselves: completing a word starts no process.
import { type CompletionPlace, stepsOf } from './completion-tree.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

export function completionScript(shell: Shell, places: readonly CompletionPlace[]): string {
  if (shell === 'fish') return fishScript(places);
  return shell === 'zsh' ? zshScript(places) : bashScript(places);
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const wordsAt = ({ next, options }: CompletionPlace): string[] => [
  ...next.map(({ word }) => word),
  ...options.map(({ name }) => `--${name}`),
  '--help',
];

/** The cases of options whose value is chosen from a list, is the path of a file, or is any text. */
function valueCases(places: readonly CompletionPlace[]) {
  const all = places.flatMap(({ place, options }) =>
    options.map(({ name, value }) => ({ case: quoted(`${place} --${name}`), value })),
  );
  return {
    chosen: all.filter(({ value }) => Array.isArray(value)),
    files: all.filter(({ value }) => value === 'file').map((one) => one.case),
    texts: all.filter(({ value }) => value === 'text').map((one) => one.case),
  };
}

function bashScript(places: readonly CompletionPlace[]): string {
  const { chosen, files, texts } = valueCases(places);
  return `# Completion of divan for bash: source it, or put it into /etc/bash_completion.d.
_divan() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} place= candidates= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place/\${COMP_WORDS[i]}" in
      ${stepsOf(places).map(quoted).join('|')}) place="\${place:+$place }\${COMP_WORDS[i]}" ;;
      *) break ;;
    esac
  done
  case "$place $before" in
${chosen.map((one) => `    ${one.case}) candidates=${quoted((one.value as string[]).join(' '))} ;;`).join('\n')}
    ${files.join('|')}) ;;
    ${texts.join('|')}) COMPREPLY=(); return ;;
    *) case "$place" in
${places.map((one) => `      ${quoted(one.place)}) candidates=${quoted(wordsAt(one).join(' '))} ;;`).join('\n')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
  if ((\${#COMPREPLY[@]} == 0)) && [[ $current != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _divan divan
`;
}

function zshScript(places: readonly CompletionPlace[]): string {
  const { chosen, files, texts } = valueCases(places);
  const list = (words: readonly string[]): string => words.map(quoted).join(' ');
  return `#compdef divan
# Completion of divan for zsh: put it as _divan into a folder of $fpath, or source it.
_divan() {
  local place= i
  for ((i = 2; i < CURRENT; i++)); do
    case "$place/\${words[i]}" in
      (${stepsOf(places).map(quoted).join('|')}) place="\${place:+$place }\${words[i]}" ;;
      (*) break ;;
    esac
  done
  case "$place \${words[CURRENT-1]}" in
${chosen.map((one) => `    (${one.case}) compadd -- ${list(one.value as string[])}; return ;;`).join('\n')}
    (${files.join('|')}) _files; return ;;
    (${texts.join('|')}) return ;;
  esac
  case "$place" in
${places.map((one) => `    (${quoted(one.place)}) compadd -- ${list(wordsAt(one))} ;;`).join('\n')}
  esac
  [[ $place == '' ]] || _files
}
if [[ $funcstack[1] == _divan ]]; then _divan "$@"; else compdef _divan divan; fi
`;
}

function fishScript(places: readonly CompletionPlace[]): string {
  const at = (place: string): string => `-n ${quoted(`__divan_at "${place}"`)}`;
  const lines = places.flatMap(({ place, next, options }) => [
    ...next.map(
      ({ word, doc }) =>
        `complete -c divan ${place === '' ? '-f ' : ''}${at(place)} -a ${quoted(word)} -d ${quoted(doc)}`,
    ),
    ...options.map(({ name, doc, value }) => {
      const kind = Array.isArray(value)
        ? ` -x -a ${quoted(value.join(' '))}`
        : value === 'file'
          ? ' -r -F'
          : value === 'text'
            ? ' -x'
            : '';
      return `complete -c divan ${at(place)} -l ${name}${kind} -d ${quoted(doc)}`;
    }),
  ]);
  return `# Completion of divan for fish: put it as divan.fish into ~/.config/fish/completions.
function __divan_at
  set -l place
  for word in (commandline -opc)[2..-1]
    switch (string join / "$place" $word)
      case ${stepsOf(places).map(quoted).join(' ')}
        set place (string trim "$place $word")
      case '*'
        break
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`;
}
