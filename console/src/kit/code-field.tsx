// A field for a statement or a document: an editor with colours, which is loaded when the field is shown. Until then, and where it cannot be
// loaded, it is a plain field.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { CodeEditor, openEditor } from './code-editor.ts';
import type { CodeLanguage } from './code-languages.ts';
import { Field, type FieldProps } from './controls.tsx';

interface CodeFieldProps extends Pick<FieldProps, 'label' | 'value' | 'onInput' | 'hint' | 'problem'> {
  readonly language: CodeLanguage;
  readonly rows: number;
}

interface Loaded {
  readonly open: typeof openEditor;
  /** The selection in the plain field; absent: it did not have the focus. */
  readonly selection?: readonly [from: number, to: number];
}

export function CodeField({ language, ...field }: CodeFieldProps) {
  const holder = useRef<HTMLDivElement>(null);
  const [loaded, setLoaded] = useState<Loaded>();
  useEffect(() => {
    let isClosed = false;
    void import('./code-editor.ts').then(
      (module) => {
        if (!isClosed) setLoaded({ open: module.openEditor, ...selectionIn(holder.current) });
      },
      () => {}, // the plain field stays
    );
    return () => {
      isClosed = true;
    };
  }, []);
  return (
    <div ref={holder}>
      {loaded ? <Editor {...field} {...loaded} language={language} /> : <Field {...field} mono />}
    </div>
  );
}

function selectionIn(holder: HTMLElement | null): Pick<Loaded, 'selection'> {
  const field = holder?.querySelector('textarea');
  if (!field || field !== document.activeElement) return {};
  return { selection: [field.selectionStart, field.selectionEnd] };
}

function Editor({ open, selection, ...field }: CodeFieldProps & Loaded) {
  const { label, value, onInput, hint, problem, language, rows } = field;
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<CodeEditor>(null);
  const send = useRef(onInput);
  send.current = onInput;
  useLayoutEffect(() => {
    const opened = open(host.current as HTMLElement, {
      language,
      rows,
      text: value,
      onInput: (text) => send.current(text),
    });
    editor.current = opened;
    if (selection) opened.focus(...selection);
    return () => opened.close();
  }, []);
  useLayoutEffect(() => editor.current?.replace(value), [value]);
  const description = [hint, problem].filter(Boolean).join(' ');
  useLayoutEffect(
    () => editor.current?.describe({ label, description, isInvalid: problem !== undefined }),
    [label, description, problem],
  );
  return (
    <div class="field">
      <span>{label}</span>
      <div ref={host} />
      {hint && <p class="hint">{hint}</p>}
      {problem && <p class="problem">{problem}</p>}
    </div>
  );
}
